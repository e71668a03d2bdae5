#pragma once

#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/passage.hpp>

#include <Eigen/Core>

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace espalier::backend {

/// A trained head over embeddings: tanh(weight . embedding + bias), one for plans and one for searches. Its file is
/// JSON: {"dimension": d, "plan": {"weight": [d numbers], "bias": b}, "search": {...}}.
class ValueHead {
 public:
  /// Throws InputError that names the file and the field.
  static ValueHead load(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw InputError(file, 0, "", "cannot be read");
    std::string text(std::istreambuf_iterator<char>(in), {});
    detail::JsonReader json;
    ValueHead head;
    head.file_ = file;
    try {
      const simdjson::dom::element root = json.read(text);
      const auto dimension = detail::field<std::uint64_t>(root, "dimension");
      if (!dimension || *dimension == 0) throw InputError(file, 0, "dimension", "is no whole number above 0");
      for (const auto& [name, place] : {std::pair<const char*, std::size_t>("plan", 0), {"search", 1}}) {
        simdjson::dom::element part;
        simdjson::dom::array weights;
        if (root[name].get(part) || part["weight"].get(weights))
          throw InputError(file, 0, std::string(name) + ".weight", "is no list of numbers");
        if (weights.size() != *dimension)
          throw InputError(
              file, 0, std::string(name) + ".weight",
              "has " + std::to_string(weights.size()) + " numbers, its dimension is " + std::to_string(*dimension));
        const auto bias = detail::field<double>(part, "bias");
        if (!bias) throw InputError(file, 0, std::string(name) + ".bias", "is no number");
        head.bias_[place] = *bias;
        head.weight_[place].resize(static_cast<Eigen::Index>(weights.size()));
        Eigen::Index i = 0;
        for (const auto item : weights) {
          double number = 0;
          if (item.get(number))
            throw InputError(file, 0, std::string(name) + ".weight", "holds something else than numbers");
          head.weight_[place][i++] = number;
        }
      }
    } catch (const BackendError& error) {
      throw InputError(file, 0, "", error.what());
    }
    return head;
  }

  /// {plan, search}, each in [-1, 1]. Throws InputError if the embedding has another dimension than the head.
  [[nodiscard]] std::pair<double, double> operator()(const Embedding& embedding) const {
    if (static_cast<Eigen::Index>(embedding.size()) != weight_[0].size())
      throw InputError(file_, 0, "dimension",
                       "is " + std::to_string(weight_[0].size()) + ", the encoder's embeddings have " +
                           std::to_string(embedding.size()) + " numbers");
    const Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXf>(embedding.data(), weight_[0].size()).cast<double>();
    return {std::tanh(weight_[0].dot(x) + bias_[0]), std::tanh(weight_[1].dot(x) + bias_[1])};
  }

 private:
  std::string file_;
  std::array<Eigen::VectorXd, 2> weight_;
  std::array<double, 2> bias_{};
};

}  // namespace espalier::backend
