#pragma once

#include <espalier/backend/http/authorities.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/http/options.hpp>
#include <espalier/core/json_writer.hpp>

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// An http or https address taken apart.
class Url {
 public:
  /// Throws std::invalid_argument for anything that is not an http or https address.
  explicit Url(const std::string& text) : url_(curl_url(), &curl_url_cleanup) {
    const bool parsed = curl_url_set(url_.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
    const std::string scheme = parsed ? part(CURLUPART_SCHEME) : "";
    if (scheme != "http" && scheme != "https")
      bad_option("url", text.substr(text.rfind('@') + 1), "an address that begins with http:// or https://");
  }
  [[nodiscard]] std::string host() const { return part(CURLUPART_HOST); }
  [[nodiscard]] std::string path() const { return part(CURLUPART_PATH); }
  [[nodiscard]] std::string text() const { return part(CURLUPART_URL); }
  /// The same address with another path.
  [[nodiscard]] Url with_path(const std::string& path) const {
    Url copy(text());
    curl_url_set(copy.url_.get(), CURLUPART_PATH, path.c_str(), 0);
    return copy;
  }
  /// The same address with `tail` ("/chat/completions") behind its path.
  [[nodiscard]] Url below(std::string_view tail) const {
    std::string joined = path();
    while (!joined.empty() && joined.back() == '/') joined.pop_back();
    return with_path(joined.append(tail));
  }
  /// The address as messages show it: without user, password, query and fragment.
  [[nodiscard]] std::string shown() const {
    Url copy(text());
    for (CURLUPart secret :
         {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT})
      curl_url_set(copy.url_.get(), secret, nullptr, 0);
    return copy.text();
  }

 private:
  [[nodiscard]] std::string part(CURLUPart which) const {
    char* text = nullptr;
    if (curl_url_get(url_.get(), which, &text, 0) != CURLUE_OK) return "";
    std::string copy(text);
    curl_free(text);
    return copy;
  }
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url_;
};

/// The key in `file` if one is named, else in the environment variable `variable`, else "". Blanks around it are
/// dropped. Throws std::invalid_argument for an unreadable file and for a key that cannot stand in a header; it never
/// shows a key.
inline std::string read_api_key(const std::string& variable, const std::string& file) {
  std::string key;
  if (!file.empty()) {
    std::ifstream in(file, std::ios::binary);
    if (!in) bad_option("api_key_file", file, "a readable file");
    key.assign(std::istreambuf_iterator<char>(in), {});
  } else if (const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str())) {
    key = value;
  }
  constexpr std::string_view blanks = " \t\r\n";
  key.erase(0, key.find_first_not_of(blanks));
  key.erase(key.find_last_not_of(blanks) + 1);
  for (const char c : key)
    if (c <= 0x20 || c >= 0x7f)
      bad_option(file.empty() ? "api_key_env" : "api_key_file", "a key that is not one word",
                 "printable ASCII without blanks");
  return key;
}

/// Where requests of one sort go, and how: a path on the servers of a fleet, headers, limits.
class HttpEndpoint {
 public:
  /// On a single server, where nothing is copied to a second one.
  HttpEndpoint(const Url& url, std::string api_key, HttpOptions options)
      : HttpEndpoint(alone(url, options), [](const Url& base) { return Url(base.text()); }, std::move(api_key), options) {}
  /// On every server of a fleet; `route` makes the address out of the server's.
  HttpEndpoint(std::shared_ptr<HttpFleet> fleet, const std::function<Url(const Url&)>& route, std::string api_key, HttpOptions options)
      : fleet_(std::move(fleet)), key_(std::move(api_key)), options_(std::move(options)), headers_(nullptr, &curl_slist_free_all) {
    for (const Replica& replica : fleet_->replicas()) {
      const Url base(replica.url), url = route(base);
      servers_.push_back({url.text(), url.shown(), {base.with_path("/health").text(), base.below("/models").text()}});
    }
    options_.check();
    if (options_.ca_file.empty()) options_.ca_file = authorities_file();
    else if (!std::ifstream(options_.ca_file)) bad_option("ca_file", options_.ca_file, "a readable file");
    add_header("Content-Type: application/json");
    add_header("Expect:");  // never wait for "100 Continue"
    if (!key_.empty()) add_header("Authorization: Bearer " + key_);
  }
  [[nodiscard]] HttpFleet& fleet() const { return *fleet_; }
  [[nodiscard]] const std::string& url(std::size_t server) const { return servers_[server].url; }
  /// The address without secrets.
  [[nodiscard]] const std::string& shown(std::size_t server) const { return servers_[server].shown; }
  /// Where a server says whether it is well: /health, and the list of models for servers that do not know that.
  [[nodiscard]] const std::array<std::string, 2>& probes(std::size_t server) const { return servers_[server].probes; }
  [[nodiscard]] const HttpOptions& options() const { return options_; }
  [[nodiscard]] curl_slist* headers() const { return headers_.get(); }

  /// Takes the key out of what a server sent.
  void redact(std::string& text) const {
    for (std::size_t at = 0; !key_.empty() && (at = text.find(key_, at)) != std::string::npos;)
      text.replace(at, key_.size(), "[key]");
  }
  /// A server's text cut to 200 bytes for a message: one line, well-formed, without the key.
  [[nodiscard]] std::string excerpt(std::string text) const {
    redact(text);
    std::string line;
    for (std::size_t i = 0, length = 0; i < text.size() && line.size() < 200; i += length) {
      const auto byte = static_cast<unsigned char>(text[i]);
      length = utf8_sequence(text, i);
      if (byte <= 0x20 || byte == 0x7f) line.append(line.empty() || line.back() == ' ' ? "" : " ");
      else if (length) line.append(text, i, length);
      else line.append("\xEF\xBF\xBD"), length = 1;
    }
    return line;
  }

 private:
  static std::shared_ptr<HttpFleet> alone(const Url& url, HttpOptions options) {
    options.hedge = 0;
    return std::make_shared<HttpFleet>(std::vector<Replica>{{url.text()}}, options);
  }
  void add_header(const std::string& line) { headers_.reset(curl_slist_append(headers_.release(), line.c_str())); }
  struct Server {
    std::string url, shown;
    std::array<std::string, 2> probes;
  };
  std::shared_ptr<HttpFleet> fleet_;
  std::vector<Server> servers_;
  std::string key_;
  HttpOptions options_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_;
};

}  // namespace espalier::backend
