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

/// Writes the SFT rows of one chain.
class SftWriter {
 public:
  SftWriter(const TreeRecord& record, const SftOptions& options, NodeId end, std::string& out)
      : record_(record), options_(options), end_(end), own_(rewards(record.tree)), out_(out) {}

  /// Writes a row. `name` makes its id.
  void write(const std::string& name, const std::string& prompt, const std::string& completion,
             const std::vector<NodeId>& nodes) {
    const std::string& tree = record_.tree.state(end_).question().id;
    JsonWriter json(out_);
    const std::size_t begin = code_points(prompt), end_of_row = begin + code_points(completion);
    json.begin_object().field("id", tree + '#' + name);
    json.field("prompt", prompt).field("completion", completion).key("loss_spans").begin_array();
    json.begin_array().value(begin).value(end_of_row).end_array().end_array();
    json.key("provenance").begin_object().field("tree", tree).key("nodes").array(nodes);
    json.key("rewards").begin_array();
    for (const NodeId node : nodes) json.value(own_[node]);
    json.end_array().field("answer_reward", own_[end_]).field("choice", detail::name(options_.choice));
    record_.end_provenance(json);
    json.end_object();
    out_ += '\n';
  }

 private:
  const TreeRecord& record_;
  SftOptions options_;
  NodeId end_;
  std::vector<std::optional<double>> own_;
  std::string& out_;
};

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
  detail::SftWriter rows(record, options, *end, out);
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
      rows.write(std::to_string(row++), form.prompt(), completion, nodes);
      nodes.clear();
      completion.clear();
    }
    form.add(action, tree.state(id).transcript());
  }
}

}  // namespace espalier::output
