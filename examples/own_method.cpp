// A method of one's own: prompts, environment, reward, selection, search, inference, data and options. It looks things
// up for some rounds, then answers, under MCTS. From then on `make_method`, Job and the report treat it as their own.
#include <espalier/method/method.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/run/job.hpp>
#include <espalier/run/world.hpp>
#include <espalier/search/layered.hpp>
#include <espalier/search/mcts_task.hpp>

#include <fstream>
#include <iostream>

using namespace espalier;
// What is asked, in which slots, and in which tags the answer comes.
rag::PromptSet scout_prompts() {
  const Protocol protocol{
      "scout",
      {{"look_up", {"question", "history"}, {"search"}}, {"conclude", {"question", "history"}, {"answer"}}},
      {{"search", "<search>", "</search>"}, {"information", "<hits>", "</hits>"}, {"answer", "<answer>", "</answer>"}}};
  const std::string known = "\nQuestion: {question}\nSo far:\n{history}";
  return {std::make_shared<const Protocol>(protocol),
          {{"look_up", "Put what to look up next inside <search></search>." + known},
           {"conclude", "Answer from what was found, in a few words inside <answer></answer>." + known}}};
}

// Which steps are legal, and how they are drawn and taken.
struct ScoutEnvironment {
  using State = rag::State;
  using Action = rag::Action;
  static constexpr auto query = Kind(rag::SegmentKind::query), answer = Kind(rag::SegmentKind::answer);
  rag::Environment loop;
  std::uint32_t rounds;
  std::span<const Kind> kinds(const State& s) const {
    static constexpr std::array<Kind, 1> look{query}, conclude{answer};
    if (s.answer()) return {};
    return s.retrievals() < rounds ? look : conclude;
  }
  Task<std::vector<Proposal<Action>>> propose(State s, Kind kind, std::uint32_t n, Context context) const {
    return loop.draw(kind == query ? "look_up" : "conclude", loop.slots(s.view()), n, context);
  }
  Task<State> step(State s, Action a, Context context) const { return loop.step(std::move(s), std::move(a), context); }
};

// A right answer, the more so the shorter it is.
struct ShortAndRight {
  double operator()(const rag::State& s) const {
    return rag::F1()(s) / (1 + 0.01 * double(s.answer().value_or("").size()));
  }
};

// The child that was seen least.
struct LeastVisited {
  double operator()(const Node<double>&, const Node<double>& c) const { return -double(c.visits + c.pending); }
};

void write_path(const output::TreeRecord& record, std::string& rows) {
  const auto best = output::best_answer(record.tree);
  if (!best) return;
  std::string path = "\n";
  for (NodeId id = best->node; id != 0; id = record.tree[id].parent) path = " -> " + record.tree.action(id).text + path;
  rows += std::to_string(best->value) + " (simulated, oracle) -> " + record.tree.state(0).question().text + path;
}

class Scout final : public method::Method {
 public:
  Scout() : Method(scout_prompts()) { table_.add("rounds", rounds_, "searches", method::Range::at_least(1)); }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override {
    return (*search_)(*environment_, root, Seed(seed, root.question().id));
  }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override {
    return policy_(*environment_, root, Seed(seed, root.question().id));
  }
  std::vector<method::Product> products() const override { return {method::Product("paths.txt", write_path)}; }

 private:
  void build(rag::Environment loop) override {
    environment_.emplace(ScoutEnvironment{std::move(loop), rounds_});
    search_.emplace(MctsOptions{.simulations = 16, .width = 3}, Rollout<ShortAndRight>({.n = 1}, ShortAndRight()),
                    LeastVisited());
  }
  std::uint32_t rounds_ = 2;
  std::optional<ScoutEnvironment> environment_;
  std::optional<Mcts<Rollout<ShortAndRight>, LeastVisited>> search_;
  PolicyLoop policy_;
};

int main() {
  const method::Registered<Scout> scout("scout");
  run::write_world("out/own_method/world", {.passages = 200, .questions = 10, .max_hops = 2});
  run::Settings settings;
  settings.method = "scout";
  settings.questions = "out/own_method/world/questions.jsonl";
  settings.retriever.corpus = "out/own_method/world/corpus.jsonl";
  settings.output.folder = "out/own_method/run";
  settings.output.overwrite = true;  // what Scout does may have changed
  run::Job job(settings);
  job();
  std::cout << std::ifstream(settings.output.folder + "/paths.txt").rdbuf();
}
