// expect: pruning policy: must be prune(const Tree&, std::span<const NodeId> siblings) -> Verdict
#include <espalier/llm/scheduler.hpp>
#include <espalier/search/layered.hpp>

#include "../toy/corridor.hpp"

#include <span>
#include <vector>

struct KeepFirst {
#ifdef FAIL
  template <class Tree>
  std::vector<espalier::NodeId> operator()(const Tree&, std::span<const espalier::NodeId> siblings) const {
    return {siblings.begin(), siblings.begin() + 1};  // whom to keep, instead of a verdict on whom to cut
  }
#else
  template <class Tree>
  espalier::Verdict operator()(const Tree&, std::span<const espalier::NodeId> siblings) const {
    espalier::Verdict verdict;
    for (std::size_t i = 1; i < siblings.size(); ++i) verdict.cut.emplace_back(siblings[i], espalier::Reason::not_best);
    return verdict;
  }
#endif
};

int main() {
  espalier::toy::Corridor env(2);
  const auto value = [](const espalier::toy::Corridor& c, const espalier::toy::Corridor::State& s) {
    return c.value(s);
  };
  espalier::Layered search({.width = 2}, value, KeepFirst());
  return espalier::Scheduler().run(search(env, env.root(), espalier::Seed(1))).size() == 5 ? 0 : 1;
}
