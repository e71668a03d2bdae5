#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/core/passage.hpp>
#include <espalier/core/prompt.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

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

/// The backends that a program hands to a run. A setting names one in place of a URL: "given" for the retriever, the
/// encoder and the values, and a key of `models`.
struct GivenBackends {
  static constexpr const char* source = "given";
  std::map<std::string, Given<Prompt, Completion>> models;  ///< by "given", or "given:PURPOSE" for one purpose
  std::optional<Given<Query, Passages>> retriever;
  std::optional<Given<EncodeRequest, Embedding>> encoder, values;
};

}  // namespace espalier::run
