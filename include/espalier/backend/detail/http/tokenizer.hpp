#pragma once

#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/backend/detail/http/service.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/core/json_writer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The token ids of a text.
using TokenIds = std::vector<std::int64_t>;

/// Asks llama.cpp's /tokenize for the tokens of a text, including special ones.
class HttpTokenizer final : public HttpService<std::string, TokenIds> {
 public:
  HttpTokenizer(std::shared_ptr<const HttpEndpoint> endpoint, std::shared_ptr<HttpClient> client)
      : HttpService(std::move(client), endpoint->options().max_in_flight), endpoint_(std::move(endpoint)) {}

 private:
  std::shared_ptr<const HttpEndpoint> write(std::span<const std::string> group, std::string& body) override {
    JsonWriter(body).begin_object().field("content", group.front()).field("add_special", true).end_object();
    return endpoint_;
  }
  std::vector<std::optional<TokenIds>> read(std::span<const std::string>, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    throw_if_error(root);
    simdjson::dom::array tokens;
    if (root["tokens"].get(tokens)) throw BackendError("a reply without tokens");
    TokenIds ids;
    for (const auto token : tokens) {
      std::int64_t id = 0;
      if (token.get(id)) throw BackendError("a token that is no number");
      ids.push_back(id);
    }
    return {std::move(ids)};
  }

  std::shared_ptr<const HttpEndpoint> endpoint_;
  JsonReader json_;
};

}  // namespace espalier::backend::detail
