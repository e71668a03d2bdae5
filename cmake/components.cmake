# The optional components of Espalier, in one table: which library each needs, and what it defines.
# The build and the installed package both read this file, so a component can be used wherever its library is found.

set(espalier_components json http sqlite dense faiss fmt gzip)

# CMake packages, in the order they must be found | target to link (the first that exists) | definition | Debian package
set(espalier_json   "simdjson"     "simdjson::simdjson"                 ESPALIER_HAS_SIMDJSON libsimdjson-dev)
set(espalier_http   "CURL"         "CURL::libcurl"                      ESPALIER_HAS_CURL     libcurl4-openssl-dev)
set(espalier_sqlite "SQLite3"      "SQLite3::SQLite3,SQLite::SQLite3"   ESPALIER_HAS_SQLITE   libsqlite3-dev)
set(espalier_dense  "Eigen3"       "Eigen3::Eigen"                      ESPALIER_HAS_EIGEN    libeigen3-dev)
set(espalier_faiss  "OpenMP,faiss" "faiss"                              ESPALIER_HAS_FAISS    libfaiss-dev)
set(espalier_fmt    "fmt"          "fmt::fmt"                           ESPALIER_HAS_FMT      libfmt-dev)
set(espalier_gzip   "ZLIB"         "ZLIB::ZLIB"                         ESPALIER_HAS_ZLIB     zlib1g-dev)

# Components that a component builds on.
set(espalier_http_uses json)
set(espalier_faiss_uses dense)

# The calls that each part makes, in a few lines. Where they do not compile, the part is left out.
set(espalier_json_try [=[
#include <simdjson.h>
int main() {
  simdjson::dom::parser parser;
  simdjson::dom::element value = parser.parse(simdjson::padded_string(std::string("[1]")));
  for (simdjson::dom::element item : value.get_array())
    if (item.type() == simdjson::dom::element_type::INT64) return item.get_int64().value_unsafe() == 1 ? 0 : 1;
  return simdjson::minify(value).empty() || !simdjson::validate_utf8("", 0) || parser.load("").error();
}]=])
set(espalier_http_try [=[
#include <curl/curl.h>
#include <cstddef>
#include <initializer_list>
int main() {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const curl_version_info_data& library = *curl_version_info(CURLVERSION_NOW);
  const char* trusted = library.age < CURLVERSION_SEVENTH ? nullptr : library.cainfo;
  CURLM* multi = curl_multi_init();
  CURL* easy = curl_easy_init();
  char error[CURL_ERROR_SIZE] = {};
  char* self = nullptr;
  long status = 0;
  curl_off_t seconds = 0;
  int running = 0;
  const auto set = [easy](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  for (const CURLoption text : {CURLOPT_URL, CURLOPT_POSTFIELDS, CURLOPT_USERAGENT, CURLOPT_CAINFO}) set(text, trusted);
  for (const CURLoption number : {CURLOPT_PIPEWAIT, CURLOPT_HTTPGET, CURLOPT_TIMEOUT_MS, CURLOPT_NOSIGNAL,
                                  CURLOPT_TCP_KEEPALIVE, CURLOPT_CONNECTTIMEOUT_MS})
    set(number, 1L);
  std::size_t (*write)(char*, std::size_t, std::size_t, void*) = nullptr;
  set(CURLOPT_WRITEFUNCTION, write);
  set(CURLOPT_HEADERFUNCTION, write);
  for (const CURLoption data : {CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_PRIVATE}) set(data, &running);
  set(CURLOPT_ERRORBUFFER, error);
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_2TLS));
  set(CURLOPT_POSTFIELDSIZE_LARGE, seconds);
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &seconds);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 1L);
  curl_multi_add_handle(multi, easy);
  curl_multi_poll(multi, nullptr, 0, 0, &running);
  curl_multi_perform(multi, &running);
  const CURLMsg* message = curl_multi_info_read(multi, &running);
  curl_multi_remove_handle(multi, easy);
  CURLU* address = curl_url();
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PATH, CURLUPART_PASSWORD, CURLUPART_QUERY})
    curl_url_get(address, part, &self, CURLU_URLDECODE);
  curl_free(curl_easy_escape(nullptr, "a", 1));
  curl_url_set(address, CURLUPART_URL, "http://a", 0);
  curl_url_cleanup(address);
  curl_slist_free_all(headers);
  curl_easy_reset(easy);
  curl_easy_cleanup(easy);
  curl_multi_cleanup(multi);
  return message && curl_strnequal("a", "A", 1) && curl_easy_strerror(CURLE_SSL_CACERT_BADFILE);
}]=])
set(espalier_sqlite_try [=[
#include <sqlite3.h>
int main() {
  sqlite3* file = nullptr;
  sqlite3_stmt* rows = nullptr;
  sqlite3_open_v2("", &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  sqlite3_extended_result_codes(file, 1);
  sqlite3_prepare_v2(file, "SELECT ?", -1, &rows, nullptr);
  sqlite3_bind_text64(rows, 1, "a", 1, SQLITE_STATIC, SQLITE_UTF8);
  sqlite3_bind_blob64(rows, 1, "a", 1, SQLITE_STATIC);
  return sqlite3_step(rows) == SQLITE_ROW && sqlite3_column_int64(rows, 0);
}]=])
set(espalier_dense_try [=[
#include <Eigen/Core>
int main() {
  const float given[] = {1, 2};
  const Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXf>(given, Eigen::Index(2)).cast<double>();
  const Eigen::MatrixXf rows = Eigen::Map<const Eigen::Matrix<float, -1, -1, Eigen::RowMajor>>(given, 1, 2);
  return x.dot(x) + (rows * rows.transpose())(0, 0) > 0 ? 0 : 1;
}]=])
set(espalier_faiss_try [=[
#include <faiss/AutoTune.h>
#include <faiss/IVFlib.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/impl/FaissException.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>
#include <cstdint>
#include <memory>
int main() {
  std::unique_ptr<faiss::Index> index(faiss::index_factory(2, "Flat", faiss::METRIC_INNER_PRODUCT));
  const float row[] = {1, 2};
  float score = 0;
  std::int64_t found = 0;  // faiss::Index::idx_t until 1.7.3, faiss::idx_t after it
  index->add(std::int64_t(1), row);
  faiss::IVFSearchParameters parameters;
  index->search(1, row, 1, &score, &found);
  faiss::ParameterSpace().set_index_parameter(index.get(), "nprobe", 1);
  faiss::write_index(index.get(), "");
  index.reset(faiss::read_index("", faiss::IO_FLAG_MMAP));
  return faiss::ivflib::try_extract_index_ivf(index.get()) || dynamic_cast<faiss::IndexHNSWSQ*>(index.get());
}]=])
set(espalier_fmt_try [=[
#include <fmt/ranges.h>
#include <string>
#include <vector>
struct Named {};
template <>
struct fmt::formatter<Named> : fmt::formatter<std::string_view> {
  auto format(const Named&, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format("name", context);
  }
};
int main() { return fmt::format("{} {:.3}", Named(), 0.5) == fmt::format("{}", fmt::join(std::vector<int>{1}, ",")); }]=])
set(espalier_gzip_try [=[
#include <zlib.h>
int main() {
  char bytes[1];
  int error = 0;
  gzFile file = gzopen("", "rb");
  gzbuffer(file, 1 << 18);
  return gzread(file, bytes, 1) + int(gzoffset(file)) + gzclose(file) + (gzerror(file, &error) != nullptr);
}]=])

# Sets `reason` to "" if the lines of component `name` compile with `library`, else to the first error. A success is kept
# in the cache for this compiler and library. A failure is tried again by the next configuration.
function(espalier_try name library package reason)
  get_target_property(folders ${library} INTERFACE_INCLUDE_DIRECTORIES)
  set(with "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${folders}")
  set(${reason} "" PARENT_SCOPE)
  if(NOT ESPALIER_TRIED_${name} STREQUAL with)
    set(lines "${espalier_${name}_try}\n")
    try_compile(compiles SOURCE_FROM_VAR ${name}.cpp lines LINK_LIBRARIES ${library} NO_CACHE
      CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON OUTPUT_VARIABLE said)
    if(compiles)
      set(ESPALIER_TRIED_${name} "${with}" CACHE INTERNAL "")
    else()
      string(REGEX MATCH "[^\n]*error[^\n]*" said "${said}")
      string(SUBSTRING "${said}" 0 200 said)
      set(${reason} "${package} does not compile or link: ${said}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Defines espalier::<name> for each name whose library is found and works. The global property espalier_<name>_left_out
# says why one is not there. `scope` is GLOBAL or empty: who sees the targets.
function(espalier_find_components names scope)
  foreach(name IN LISTS names)
    if(TARGET espalier::${name} OR NOT name IN_LIST espalier_components)
      continue()
    endif()
    list(GET espalier_${name} 0 packages)
    list(GET espalier_${name} 1 candidates)
    list(GET espalier_${name} 2 definition)
    list(GET espalier_${name} 3 debian)
    string(REPLACE "," ";" packages "${packages}")
    string(REPLACE "," ";" candidates "${candidates}")
    espalier_find_components("${espalier_${name}_uses}" "${scope}")

    set(libraries espalier::espalier)
    set(left_out "")
    foreach(used IN LISTS espalier_${name}_uses)
      list(APPEND libraries espalier::${used})
      if(NOT TARGET espalier::${used})
        get_property(left_out GLOBAL PROPERTY espalier_${used}_left_out)
      endif()
    endforeach()
    foreach(package IN LISTS packages)
      if(NOT left_out)
        find_package(${package} QUIET ${scope})
        if(NOT ${package}_FOUND)
          set(left_out "${debian} was not found")
        endif()
      endif()
    endforeach()
    if(NOT left_out)
      foreach(candidate IN LISTS candidates)
        if(TARGET ${candidate})
          list(APPEND libraries ${candidate})
          espalier_try(${name} ${candidate} ${debian} left_out)
          break()
        endif()
      endforeach()
    endif()
    set_property(GLOBAL PROPERTY espalier_${name}_left_out "${left_out}")
    if(NOT left_out)
      add_library(espalier::${name} INTERFACE IMPORTED ${scope})
      target_link_libraries(espalier::${name} INTERFACE ${libraries})
      target_compile_definitions(espalier::${name} INTERFACE ${definition}=1)
    endif()
  endforeach()
endfunction()

function(espalier_report_components)
  foreach(name IN LISTS espalier_components)
    if(TARGET espalier::${name})
      list(APPEND present ${name})
    endif()
  endforeach()
  list(JOIN present ", " present)
  message(STATUS "Espalier ${PROJECT_VERSION}, components: ${present}")
  foreach(name IN LISTS espalier_components)
    if(NOT TARGET espalier::${name})
      get_property(left_out GLOBAL PROPERTY espalier_${name}_left_out)
      message(STATUS "Espalier component left out: ${name}, ${left_out}")
    endif()
  endforeach()
endfunction()
