#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/core/passage.hpp>
#include <espalier/core/prompt.hpp>

#include <functional>
#include <optional>

namespace espalier::run {

template <class In, class Out>
class Backend;

/// A backend that the program hands to a run.
template <class In, class Out>
struct Given {
  /// Identity of its answers. Without it the journal keeps them no longer than the process.
  std::optional<Hash> fingerprint;
  bool by_name = false;        ///< the fingerprint is made from the name in the settings alone
  bool takes_grammar = false;  ///< a language model that can follow a grammar
  /// Called when the run begins to search, and before its probes. A finished run and a replay never call it.
  std::function<Backend<In, Out>()> open;
};

}  // namespace espalier::run
