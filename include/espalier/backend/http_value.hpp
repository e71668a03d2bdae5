#pragma once

#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/backend/http/detail/service.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/passage.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A server that values texts.
struct HttpValueOptions {
  std::string url = "http://127.0.0.1:8000/value";  ///< without a path /value is added
  std::string name = "default";                     ///< of the model behind it, for the fingerprint, not empty
  std::string api_key_env = "OPENAI_API_KEY";       ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};                    ///< file with the key, takes precedence over api_key_env
  std::size_t batch = 64;                           ///< largest number of texts in one message, >= 1
  HttpOptions http = {};
};

/// Sends {"texts": [...]} and reads {"plan": [...], "search": [...]}, each with one number in [-1, 1] per text. The
/// result is an embedding of the two, so it can be used wherever an encoder's port is expected. Throws
/// std::invalid_argument for bad options.
class HttpValue final : public detail::HttpService<EncodeRequest, Embedding> {
 public:
  explicit HttpValue(HttpValueOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight, options.batch), options_(std::move(options)) {
    if (options_.name.empty()) bad_option("name", options_.name, "a name of the value model, not empty");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    const detail::Url url(options_.url);
    const std::string path = url.path().size() > 1 ? url.path() : "/value";
    endpoint_ = std::make_shared<const detail::HttpEndpoint>(
        url.with_path(path), detail::read_api_key(options_.api_key_env, options_.api_key_file), options_.http);
  }
  [[nodiscard]] Hash fingerprint() const {
    return Hasher().add(std::string_view("http values")).add(options_.name).finish();
  }

 private:
  std::shared_ptr<const detail::HttpEndpoint> write(std::span<const EncodeRequest> group, std::string& body) override {
    JsonWriter json(body);
    json.begin_object().key("texts").begin_array();
    for (const EncodeRequest& request : group) json.value(request.text);
    json.end_array().end_object();
    return endpoint_;
  }
  std::vector<std::optional<Embedding>> read(std::span<const EncodeRequest> group, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    detail::throw_if_error(root);
    std::vector<std::optional<Embedding>> values(group.size(), Embedding(2));
    for (const auto& [name, place] : {std::pair<const char*, std::size_t>("plan", 0), {"search", 1}}) {
      simdjson::dom::array numbers;
      if (root[name].get(numbers) || numbers.size() != group.size())
        throw BackendError(std::string("not one number for each text under '") + name + "'");
      std::size_t i = 0;
      for (const auto item : numbers) {
        double number = 0;
        if (item.get(number) || !(number >= -1 && number <= 1))
          throw BackendError(std::string("a value under '") + name + "' that is no number from -1 to 1");
        (*values[i++])[place] = static_cast<float>(number);
      }
    }
    return values;
  }

  HttpValueOptions options_;
  detail::JsonReader json_;
  std::shared_ptr<const detail::HttpEndpoint> endpoint_;
};

}  // namespace espalier::backend
