#pragma once

#include <espalier/method/air_options.hpp>
#include <espalier/method/air_prompts.hpp>
#include <espalier/output/medoid.hpp>
#include <espalier/rag/environment.hpp>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

/// Makes every simulated end a terminal node of the tree, once for each sequence of steps. Returns the candidates: all
/// terminal nodes that hold an answer, in order of creation.
inline std::vector<NodeId> add_candidates(rag::Tree& tree) {
  const auto steps = [&](const rag::State& state) {
    std::string all;
    for (const rag::Segment* segment : state.transcript().segments())
      if (!segment->documents()) all += segment->words() + '\x1f';
    return all;
  };
  std::set<std::string> seen;
  std::vector<NodeId> candidates;
  for (NodeId id = 1; id < tree.size(); ++id) {
    if (tree[id].status == Status::pruned || !tree.state(id).answer()) continue;
    tree[id].status = Status::terminal;
    if (seen.insert(steps(tree.state(id))).second) candidates.push_back(id);
  }
  for (std::size_t i = 0; i < tree.rollouts.size(); ++i) {
    const auto& rollout = tree.rollouts[i];
    const auto answer = rollout.state.answer();
    if (!answer || !seen.insert(steps(rollout.state)).second) continue;
    rag::Action action(rag::SegmentKind::answer, *answer, "", rag::normalise(*answer));
    candidates.push_back(tree.add(rollout.node, std::move(action), rollout.state, static_cast<Kind>(rag::SegmentKind::answer), 1));
    tree[candidates.back()].status = Status::terminal;
  }
  return candidates;
}

/// Chooses a tree's answer among its candidates (AirRAG, section 3.3) and marks it "selected".
class AirChoice {
 public:
  AirChoice(AirOptions::Select select, rag::Environment loop, std::optional<EncoderPort> encoder)
      : select_(select), loop_(std::move(loop)), encoder_(std::move(encoder)) {
    if (select_ == AirOptions::Select::embedding && !encoder_) bad_option("select", "embedding", "another choice where there is no encoder");
  }

  Task<void> operator()(rag::Tree* tree) const {
    const std::vector<NodeId> candidates = add_candidates(*tree);
    tree->annotations.erase("selected");
    if (candidates.empty()) co_return;
    std::vector<std::string> answers;
    for (const NodeId id : candidates) answers.push_back(*tree->state(id).answer());
    if (select_ == AirOptions::Select::refine) {
      co_await refine(tree, std::move(answers));
      co_return;
    }
    std::vector<double> scores;
    if (select_ == AirOptions::Select::jaccard) scores = output::agreement_scores<std::string>(answers, output::jaccard);
    else if (select_ == AirOptions::Select::embedding) scores = co_await by_embedding(std::move(answers));
    else scores = co_await judge(tree, candidates);
    tree->annotate("selected", candidates[output::first_best(scores)], 1);
  }

 private:
  Task<std::vector<double>> by_embedding(std::vector<std::string> answers) const {
    std::vector<Task<Embedding>> asked;
    for (std::string& answer : answers) asked.push_back(embed(std::move(answer)));
    const std::vector<Embedding> embeddings = co_await gather(std::move(asked));
    co_return output::agreement_scores<Embedding>(embeddings, output::cosine);
  }
  Task<Embedding> embed(std::string text) const {
    EncodeRequest request(std::move(text), EncodeRequest::Role::passage);
    co_return co_await (*encoder_)(std::move(request));
  }
  /// Scores of the candidates' paths by the prompt "reward_model"; one that cannot be read loses to all that can.
  Task<std::vector<double>> judge(rag::Tree* tree, std::vector<NodeId> candidates) const {
    std::vector<Task<std::vector<rag::Sample>>> asked;
    for (const NodeId id : candidates) {
      auto slots = loop_.slots(tree->state(id).view());
      slots.emplace_back("step", rag::render_text(*tree->state(id).answer()));
      asked.push_back(loop_.sampler().draw("reward_model", std::move(slots), 1, Context(tree->seed.child(id), 0, &tree->ledger)));
    }
    const auto judged = co_await gather(std::move(asked));
    std::vector<double> scores;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& reply = judged[i].front().reply;
      scores.push_back(reply ? rag::read_scores(reply->content, air_protocol()->purpose("reward_model")->scores)->front() : -1.0);
      if (reply) tree->annotate("process_reward", candidates[i], scores.back());
    }
    co_return scores;
  }
  /// One summary over all candidates, as a branch of its own.
  Task<void> refine(rag::Tree* tree, std::vector<std::string> answers) const {
    rag::Rendering list;
    for (const std::string& answer : answers) {
      list.text += "- ";
      list.add("candidate", answer);
      list.text += '\n';
    }
    const rag::State root = tree->state(tree->root());
    auto slots = loop_.slots(root.view());
    slots.emplace_back("candidates", std::move(list));
    const Context context(tree->seed.purpose("refine"), 0, &tree->ledger);
    auto drawn = co_await loop_.draw("refine", std::move(slots), 1, context);
    auto& refined = drawn.front();
    rag::State end = co_await loop_.step(root, refined.action, context);
    const NodeId id = tree->add(tree->root(), std::move(refined.action), std::move(end), refined.kind, 1);
    if (refined.closed != Reason::none) {
      tree->prune(id, refined.closed);
      co_return;
    }
    (*tree)[id].status = Status::terminal;
    tree->annotate("selected", id, 1);
  }

  AirOptions::Select select_;
  rag::Environment loop_;
  std::optional<EncoderPort> encoder_;
};

}  // namespace espalier::method
