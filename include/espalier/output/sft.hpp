#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/utf8.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/output/detail/policy_form.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::output {

struct SftOptions {
  ChainChoice choice = ChainChoice::most;
  rag::Profile profile = rag::Profile::common;  ///< decides whether an answer is correct
};

namespace detail {

/// The length of a text as readers of its JSON count it, in Unicode code points. A byte that is not UTF-8 counts as
/// one.
inline std::size_t code_points(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++n) espalier::detail::decode_utf8(text, i);
  return n;
}

}  // namespace detail

/// Appends the tree's SFT rows (DecEx-RAG, section 2.3). A correct chain with m retrievals gives m + 1 rows. Row i
/// shows the question and everything up to the i-th retrieval's documents. Its completion is what the policy writes
/// next, up to the next query or the final answer. `loss_spans` are [begin, end) in code points of prompt + completion.
/// Documents are only in the prompt, so they are never in the loss.
inline void append_sft_rows(const TreeRecord& record, const rag::PromptSet& prompts, const SftOptions& options,
                            std::string& out) {
  const rag::Tree& tree = record.tree;
  const std::optional<NodeId> end = correct_chain(tree, options.choice, options.profile);
  if (!end) return;
  const std::vector<std::optional<double>> own = rewards(tree);
  const std::string& question = tree.state(*end).question().id;
  const auto write = [&](std::size_t row, const std::string& prompt, const std::string& completion,
                         const std::vector<NodeId>& nodes) {
    JsonWriter json(out);
    const std::size_t begin = detail::code_points(prompt), end_of_row = begin + detail::code_points(completion);
    json.begin_object().field("id", question + '#' + std::to_string(row));
    json.field("prompt", prompt).field("completion", completion).key("loss_spans").begin_array();
    json.begin_array().value(begin).value(end_of_row).end_array().end_array();
    record.begin_provenance(json).key("nodes").array(nodes);
    json.key("rewards").begin_array();
    for (const NodeId node : nodes) json.value(own[node]);
    json.end_array().field("answer_reward", own[*end]).field("choice", detail::name(options.choice));
    record.end_row(json, out);
  };
  detail::PolicyForm form(prompts, tree.state(*end).question());
  std::vector<NodeId> nodes;
  std::string completion;
  std::size_t row = 0;
  for (const NodeId id : tree.path(*end)) {
    if (id == tree.root()) continue;
    const rag::Action& action = tree.action(id);
    nodes.push_back(id);
    completion += form.step(action);
    if (action.kind == rag::SegmentKind::query || action.kind == rag::SegmentKind::answer) {
      write(row++, form.prompt(), completion, nodes);
      nodes.clear();
      completion.clear();
    }
    form.add(action, tree.state(id).transcript());
  }
}

}  // namespace espalier::output
