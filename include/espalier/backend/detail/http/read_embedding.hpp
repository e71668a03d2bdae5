#pragma once

#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/passage.hpp>

#include <cmath>
#include <limits>

namespace espalier::backend::detail {

/// An embedding as a list of numbers. Throws BackendError (transport) if it is empty or no list of floats.
inline Embedding read_embedding(simdjson::dom::element value) {
  Embedding embedding;
  simdjson::dom::array numbers;
  if (value.get(numbers)) throw BackendError("an embedding that is no list");
  for (const auto item : numbers) {
    double number = 0;
    if (item.get(number) || std::abs(number) > std::numeric_limits<float>::max())
      throw BackendError("an embedding with something else than floats");
    embedding.push_back(static_cast<float>(number));
  }
  if (embedding.empty()) throw BackendError("an empty embedding");
  return embedding;
}

/// Scales to length 1, with a sum in order and in double. Zero stays zero.
inline void normalise(Embedding& embedding) {
  double sum = 0;
  for (const float x : embedding) sum += double(x) * double(x);
  if (sum == 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (float& x : embedding) x = static_cast<float>(double(x) * scale);
}

}  // namespace espalier::backend::detail
