#pragma once

#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/input_file.hpp>
#include <espalier/llm/passage.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A trained head over embeddings: tanh(weight . embedding + bias), for plans and for searches. Its file is of
/// safetensors: plan.weight and search.weight with d numbers, plan.bias and search.bias with one, as 4-byte floats.
class ValueHead {
 public:
  /// Throws InputError that names the file and the tensor.
  static ValueHead load(const std::string& file) {
    const std::string bytes = espalier::detail::read_input(file);
    std::uint64_t size = 0;  // of the header: 8 bytes, little-endian. Then come the header as JSON and the tensors
    if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
    if (bytes.size() < sizeof size || size > bytes.size() - sizeof size)
      throw InputError(file, 0, "", "is no safetensors file, or it is cut");
    const std::string_view tensors = std::string_view(bytes).substr(sizeof size + size);
    std::string header = bytes.substr(sizeof size, size);
    detail::JsonReader json;
    ValueHead head;
    head.file_ = file;
    try {
      const simdjson::dom::element root = json.read(header);
      for (const auto& [name, place] : {std::pair<const char*, std::size_t>("plan", 0), {"search", 1}}) {
        const std::vector<float> weight = floats(file, root, tensors, std::string(name) + ".weight");
        const std::vector<float> bias = floats(file, root, tensors, std::string(name) + ".bias");
        if (bias.size() != 1) throw InputError(file, 0, std::string(name) + ".bias", "is not one number");
        head.bias_[place] = bias.front();
        head.weight_[place] =
            Eigen::Map<const Eigen::VectorXf>(weight.data(), static_cast<Eigen::Index>(weight.size())).cast<double>();
      }
    } catch (const BackendError& error) {
      throw InputError(file, 0, "", error.what());
    }
    if (head.weight_[0].size() != head.weight_[1].size())
      throw InputError(file, 0, "search.weight",
                       "has " + std::to_string(head.weight_[1].size()) + " numbers, plan.weight has " +
                           std::to_string(head.weight_[0].size()));
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
  /// The numbers of a tensor, at least one.
  static std::vector<float> floats(const std::string& file, const simdjson::dom::element& root,
                                   std::string_view tensors, const std::string& name) {
    simdjson::dom::element tensor;
    std::string_view type;
    simdjson::dom::array offsets;
    std::uint64_t begin = 0, end = 0;
    if (root[name].get(tensor)) throw InputError(file, 0, name, "is missing");
    if (tensor["dtype"].get(type) || type != "F32") throw InputError(file, 0, name, "is not of the type F32");
    if (tensor["data_offsets"].get(offsets) || offsets.size() != 2 || offsets.at(0).get(begin) ||
        offsets.at(1).get(end) || begin >= end || end > tensors.size() || (end - begin) % sizeof(float) != 0)
      throw InputError(file, 0, name, "does not lie within the file");
    std::vector<float> numbers((end - begin) / sizeof(float));
    std::memcpy(numbers.data(), tensors.data() + begin, end - begin);
    if (!std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); }))
      throw InputError(file, 0, name, "holds a number that is not finite");
    return numbers;
  }

  std::string file_;
  std::array<Eigen::VectorXd, 2> weight_;
  std::array<double, 2> bias_{};
};

}  // namespace espalier::backend
