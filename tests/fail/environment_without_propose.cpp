// expect: Environment
#include <espalier/llm/scheduler.hpp>
#include <espalier/search/mcts_task.hpp>

#include <vector>

struct Coin {
  using State = int;
  using Action = int;
  std::vector<espalier::Kind> kinds(int s) const {
    return s ? std::vector<espalier::Kind>() : std::vector<espalier::Kind>{0};
  }
#ifdef FAIL
  // says what may be done, not how
#else
  std::vector<espalier::Proposal<int>> propose(int, espalier::Kind kind, unsigned) const {
    return {{1, kind}, {2, kind}};
  }
#endif
  int step(int, int a) const { return a; }
};

int main() {
  Coin env;
  espalier::Mcts search({.simulations = 8}, [](const Coin&, int s) { return double(s); });
  return espalier::Scheduler().run(search(env, 0, espalier::Seed(1))).size() == 3 ? 0 : 1;
}
