// Each component brings its library: headers, definition and link.
#ifdef ESPALIER_HAS_SIMDJSON
#include <simdjson.h>
#endif
#ifdef ESPALIER_HAS_CURL
#include <curl/curl.h>
#endif
#ifdef ESPALIER_HAS_SQLITE
#include <sqlite3.h>
#endif
#ifdef ESPALIER_HAS_EIGEN
#include <Eigen/Core>
#endif
#ifdef ESPALIER_HAS_FAISS
#include <faiss/IndexFlat.h>
#endif
#ifdef ESPALIER_HAS_ZLIB
#include <zlib.h>
#endif
#ifdef ESPALIER_HAS_FMT
#include <espalier/fmt.hpp>
#endif

int main() {
  int parts = 0;
#ifdef ESPALIER_HAS_SIMDJSON
  simdjson::dom::parser parser;
  parts += parser.parse(std::string("[1]")).error() == simdjson::SUCCESS;
#endif
#ifdef ESPALIER_HAS_CURL
  parts += curl_version() != nullptr;
#endif
#ifdef ESPALIER_HAS_SQLITE
  parts += sqlite3_libversion_number() > 0;
#endif
#ifdef ESPALIER_HAS_EIGEN
  parts += Eigen::Vector2f(1, 2).sum() == 3;
#endif
#ifdef ESPALIER_HAS_FAISS
  parts += faiss::IndexFlatIP(4).d == 4;
#endif
#ifdef ESPALIER_HAS_ZLIB
  parts += zlibVersion() != nullptr;
#endif
#ifdef ESPALIER_HAS_FMT
  parts += fmt::format("{}", espalier::Tree<int, int>(3, espalier::Seed(1))) == "0 root, visits 0, prior 1, open: 3";
#endif
  return parts == COMPONENT_COUNT ? 0 : 1;
}
