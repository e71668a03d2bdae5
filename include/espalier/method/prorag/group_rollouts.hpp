#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/method/prorag/advantage.hpp>
#include <espalier/method/prorag/step_format.hpp>
#include <espalier/output/sft.hpp>

#include <string>
#include <vector>

namespace espalier::method {

/// Appends a row for every trajectory of a group, that is, every chain below the tree's root. A row holds the response
/// as histories show it, its steps as [begin, end) in code points, and the rewards and advantages of Eq. 5-8. Documents
/// are in no step. Writes nothing without gold. A step that could not be read stands as the model wrote it, and ends
/// its trajectory. A trajectory without an answer has an F1 of 0. Characters stand for tokens.
inline void append_group_rollouts(const output::TreeRecord& record, const rag::PromptSet& prompts,
                                  const AdvantageOptions& options, rag::Profile profile, std::string& out) {
  const rag::Tree& tree = record.tree;
  const Protocol& protocol = *prompts.protocol();
  const rag::State& root = tree.state(tree.root());
  if (!root.has_gold()) return;
  struct Step {
    NodeId node;
    std::size_t begin, end;
  };
  struct Rollout {
    NodeId end;
    std::string response;
    std::vector<Step> steps;
    double f1;
    bool keeps_schema;
  };
  std::vector<Rollout> rollouts;
  std::vector<TrajectoryReward> group;
  for (const NodeId first : tree.children(tree.root())) {
    Rollout one{first, {}, {}, 0, false};
    TrajectoryReward rewards;
    for (NodeId id = first; id != no_node; id = tree[id].first_child) {
      const bool unread = espalier::detail::closed_at_birth(tree[id]);
      const std::string text = unread ? tree.action(id).text : detail::step_text(tree.action(id), protocol);
      const std::size_t begin = output::detail::code_points(one.response), length = output::detail::code_points(text);
      one.steps.push_back({id, begin, begin + length});
      rewards.steps.push_back(
          {options.step_reward(tree.annotation("process_reward", id), detail::well_formed(tree, id)), length});
      one.response += text + '\n';
      one.end = id;
      if (unread) break;
      const rag::Segment* last = tree.state(id).transcript().last();
      if (last->documents()) one.response += rag::render_history(rag::Transcript().append(*last), protocol).text;
    }
    const rag::State& end = tree.state(one.end);
    one.f1 = rag::score(profile, end.answer(), end.gold()).f1;
    one.keeps_schema = detail::well_formed_path(tree, one.end);
    rewards.outcome = options.outcome_reward(one.f1, one.keeps_schema);
    rollouts.push_back(std::move(one));
    group.push_back(std::move(rewards));
  }
  const auto advantage = advantages(options, group);
  for (std::size_t i = 0; i < rollouts.size(); ++i) {
    const Rollout& one = rollouts[i];
    const auto prompt = prompts.render(
        "step", {{"question", rag::render_text(root.question().text)}, {"history", rag::render_history({}, protocol)}},
        {});
    JsonWriter json(out);
    json.begin_object().field("id", root.question().id + '#' + std::to_string(i)).field("group", root.question().id);
    json.field("question", root.question().text)
        .field("prompt", prompt->messages.back().content)
        .field("response", one.response)
        .key("answer");
    const auto answer = tree.state(one.end).answer();
    answer ? json.value(*answer) : json.null();
    json.field("f1", one.f1)
        .field("well_formed", one.keeps_schema)
        .field("outcome_reward", group[i].outcome)
        .key("steps")
        .begin_array();
    for (std::size_t t = 0; t < one.steps.size(); ++t) {
      const Step& step = one.steps[t];
      json.begin_object()
          .field("type", espalier::detail::closed_at_birth(tree[step.node]) ? "malformed"
                                                                            : rag::name(tree.action(step.node).kind))
          .key("span")
          .begin_array()
          .value(step.begin)
          .value(step.end)
          .end_array();
      json.field("well_formed", detail::well_formed(tree, step.node))
          .field("process_reward", tree.annotation("process_reward", step.node));
      json.field("step_reward", group[i].steps[t].reward).field("advantage", advantage[i][t]).end_object();
    }
    json.end_array().key("provenance").begin_object().field("tree", root.question().id).field("node", one.end);
    record.end_provenance(json);
    json.end_object();
    out += '\n';
  }
}

}  // namespace espalier::method
