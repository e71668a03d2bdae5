#pragma once

#include <espalier/backend/detail/http/server_error.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/http/options.hpp>
#include <espalier/core/input_file.hpp>
#include <espalier/core/json_writer.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The PEM file of trusted authorities: of the environment, else libcurl's own ("") if readable, else one of `usual`.
inline std::string authorities_file(const char* environment, const char* built_in, std::span<const char* const> usual) {
  if (environment != nullptr && *environment != '\0') return environment;
  if (built_in == nullptr || std::ifstream(built_in)) return "";
  for (const char* file : usual)
    if (std::ifstream(file)) return file;
  return "";
}

/// The same on this machine. A libcurl built elsewhere, as in a wheel, may look for the file in the wrong place.
inline std::string authorities_file() {
  constexpr std::array usual = {
      "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine, NixOS
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, Red Hat
      "/etc/ssl/ca-bundle.pem",                             // SUSE
  };
  const curl_version_info_data& libcurl = *curl_version_info(CURLVERSION_NOW);
  return authorities_file(std::getenv("SSL_CERT_FILE"), libcurl.age < CURLVERSION_SEVENTH ? nullptr : libcurl.cainfo,
                          usual);
}

/// Texts that no message may show: keys, passwords and the queries of addresses. It cleans messages, never a reply.
class Secrets {
 public:
  /// "" is ignored. A server may quote a secret as it is or inside a JSON string.
  void add(const std::string& secret) {
    if (secret.empty()) return;
    std::string quoted;
    JsonWriter(quoted).value(secret);
    secrets_.push_back(quoted.substr(1, quoted.size() - 2));
    secrets_.push_back(secret);
    std::sort(secrets_.begin(), secrets_.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }
  /// The text with "[key]" in place of every secret, the longest that matches. What is inserted is not searched again.
  [[nodiscard]] std::string clean(std::string_view text) const {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const auto found = std::find_if(secrets_.begin(), secrets_.end(),
                                      [&](const std::string& secret) { return text.substr(at).starts_with(secret); });
      if (found == secrets_.end()) out += text[at++];
      else out += "[key]", at += found->size();
    }
    return out;
  }

 private:
  std::vector<std::string> secrets_;  ///< longest first
};

/// An http or https address, split into parts.
class Url {
 public:
  /// Throws std::invalid_argument for anything that is not an http or https address.
  explicit Url(const std::string& text) : url_(curl_url(), &curl_url_cleanup) {
    const bool parsed = curl_url_set(url_.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
    const std::string scheme = parsed ? part(CURLUPART_SCHEME) : "";
    if (scheme != "http" && scheme != "https")
      bad_option("url", shown_address(text.substr(text.rfind('@') + 1)), "an http:// or https:// address");
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
  /// The same address with `tail` ("/chat/completions") appended to its path.
  [[nodiscard]] Url below(std::string_view tail) const {
    std::string joined = path();
    while (!joined.empty() && joined.back() == '/') joined.pop_back();
    return with_path(joined.append(tail));
  }
  /// The address for messages.
  [[nodiscard]] std::string shown() const { return shown_address(text()); }
  /// The parts that a server may quote and no message may show: password and query, encoded and decoded.
  [[nodiscard]] std::array<std::string, 4> secrets() const {
    return {part(CURLUPART_PASSWORD), part(CURLUPART_PASSWORD, CURLU_URLDECODE), part(CURLUPART_QUERY),
            part(CURLUPART_QUERY, CURLU_URLDECODE)};
  }

 private:
  [[nodiscard]] std::string part(CURLUPart which, unsigned flags = 0) const {
    char* text = nullptr;
    if (curl_url_get(url_.get(), which, &text, flags) != CURLUE_OK) return "";
    std::string copy(text);
    curl_free(text);
    return copy;
  }
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url_;
};

/// The key in `file` if one is named, else in the environment variable `variable`, else "". Blanks at its ends are
/// removed. Throws InputError for an unreadable file, std::invalid_argument for a bad key, never with the key.
inline std::string read_api_key(const std::string& variable, const std::string& file) {
  std::string key;
  if (!file.empty()) {
    key = espalier::detail::read_input(file, 1 << 16);
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

/// Where and how one kind of request is sent: a path on the servers of a fleet, headers and limits.
class HttpEndpoint {
 public:
  /// For a single server.
  HttpEndpoint(const Url& url, const std::string& api_key, const HttpOptions& options)
      : HttpEndpoint(
            std::make_shared<HttpFleet>(std::vector<Replica>{{url.text()}}, options),
            [](const Url& base) { return Url(base.text()); }, api_key, options) {}
  /// For every server of a fleet. `route` makes the request's address from the server's. `header` is a further line.
  HttpEndpoint(std::shared_ptr<HttpFleet> fleet, const std::function<Url(const Url&)>& route,
               const std::string& api_key, HttpOptions options, const std::string& header = "")
      : fleet_(std::move(fleet)), options_(std::move(options)), headers_(nullptr, &curl_slist_free_all) {
    name_ = fleet_->shown(0);
    secrets_.add(api_key);
    for (const Replica& replica : fleet_->replicas()) {
      const Url url = route(Url(replica.url));
      for (const std::string& secret : url.secrets()) secrets_.add(secret);
      urls_.push_back(url.text());
    }
    options_.check();
    add_header("Content-Type: application/json");
    add_header("Expect:");  // never wait for "100 Continue"
    if (!api_key.empty()) add_header("Authorization: Bearer " + api_key);
    if (!header.empty()) add_header(header);
  }
  [[nodiscard]] HttpFleet& fleet() const { return *fleet_; }
  [[nodiscard]] const std::string& url(std::size_t server) const { return urls_[server]; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const HttpOptions& options() const { return options_; }
  [[nodiscard]] curl_slist* headers() const { return headers_.get(); }

  /// Reports to the watch how a message ended, of which something came back if it `replied`.
  void tell(Served served, const std::string& what, HttpFleet::Time then, bool replied, bool greets) const {
    const bool good = !greets && (served == Served::good || served == Served::busy);
    if (!options_.watch) return;
    if (served == Served::good || served == Served::refused) options_.watch->replied(name_, good);
    else options_.watch->failed(name_, what, then, replied, good);
  }
  /// HttpWatch::patience(). Infinity where a request has a single attempt and does not wait for the server.
  [[nodiscard]] double patience(HttpFleet::Time now, bool silent = false) const {
    const double early = options_.wait_s > 0 ? options_.wait_s : options_.early_s;
    if (!options_.watch || options_.asks_once()) return std::numeric_limits<double>::infinity();
    return options_.watch->patience(name_, silent ? std::max(options_.silent_s, early) : early, silent, now);
  }
  /// False if the server has sent no good reply yet, or with `silent` none at all, as far as anybody watches.
  [[nodiscard]] bool proven(bool silent = false) const {
    return !options_.watch || std::isinf(options_.watch->patience(name_, 0, silent, {}));
  }
  /// Describes a failure of a message, or of a question, to a server.
  [[nodiscard]] std::string described(std::size_t server, bool question, std::string_view what) const {
    return (question ? "GET " : "POST ") + shown_address(url(server)) + ": " + excerpt(what) +
           advice(what, url(server));
  }
  /// A server's text for a message: cut to 200 bytes, one line, valid UTF-8, without secrets.
  [[nodiscard]] std::string excerpt(std::string_view said) const {
    const std::string text = secrets_.clean(said);
    std::string line;
    for (std::size_t i = 0, length = 0; i < text.size() && line.size() < 200; i += length) {
      const auto byte = static_cast<unsigned char>(text[i]);
      length = espalier::detail::utf8_sequence(text, i);
      if (byte <= 0x20 || byte == 0x7f) line.append(line.empty() || line.back() == ' ' ? "" : " ");
      else if (length) line.append(text, i, length);
      else line.append("\xEF\xBF\xBD"), length = 1;
    }
    return line;
  }

 private:
  /// What to change where the server does not know a path, wants another key, filters or refuses a sampling field.
  [[nodiscard]] static std::string advice(std::string_view what, const std::string& address) {
    const bool unknown = what.starts_with("HTTP 404"), of_model = address.ends_with("/completions");
    if (unknown && !of_model) return "; the server knows no such path, or not a name that was sent";
    if (unknown && address.find("/v1") == address.npos) return "; is /v1 missing at the end of the model's URL?";
    if (unknown)
      return "; the server knows no such model or path: --model is its URL up to /v1, --model-name one of URL/models";
    if (what.starts_with("HTTP 401") || what.starts_with("HTTP 403"))
      return "; the server wants another key: OPENAI_API_KEY or --api-key-file";
    if (has_any(what, {"content filter"})) return "; a filter of the server holds this back";
    const bool error = what.starts_with("HTTP 4") || what.starts_with("the reply is an error");
    const bool heat = has_any(what, {"temperature"}), stop = has_any(what, {"'stop'", "`stop`", "(stop)", ": stop"});
    if (!error || (!heat && !stop)) return "";
    return std::string("; leave the field out by --extra-body '{\"") + (heat ? "temperature" : "stop") + "\":null}'";
  }
  void add_header(const std::string& line) { headers_.reset(curl_slist_append(headers_.release(), line.c_str())); }
  std::shared_ptr<HttpFleet> fleet_;
  std::vector<std::string> urls_;  ///< of the servers
  std::string name_;               ///< the first server's address, used as the fleet's name
  Secrets secrets_;
  HttpOptions options_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_;
};

}  // namespace espalier::backend::detail
