#include <espalier/method/decex_rag.hpp>
#include <espalier/run/option_table.hpp>

#include "rewards.hpp"
#include "search.hpp"

namespace espalier::python {

namespace {

using method::DecExOptions;

class DecExEngine final : public Engine {
 public:
  DecExEngine(const DecExOptions& options, const rag::Environment& loop, rag::AnyReward reward)
      : method_(options, loop, std::move(reward)) {}
  Task<rag::Tree> grow(rag::State root, std::uint64_t run_seed) override { return method_(std::move(root), run_seed); }

 private:
  method::DecExRag<rag::AnyReward> method_;
};

class DecExRag final : public Search {
 public:
  DecExRag(const DecExOptions& options, py::object reward, Loop environment)
      : Search("decex", std::move(environment), std::move(reward)), options_(method::checked(options)) {}

  [[nodiscard]] std::unique_ptr<Engine> on(Scheduler& scheduler, ModelPort model, RetrieverPort retriever,
                                           const py::object& chosen_reward, Budget::Watch watch) const override {
    DecExOptions options = options_;
    options.budget.watch = std::move(watch);
    const auto loop = environment.on(std::move(model), std::move(retriever), options_.rollout_rounds);
    return std::make_unique<DecExEngine>(options, loop, make_reward(chosen_reward, scheduler));
  }

 private:
  void show(JsonWriter& json) const override {
    json.field("k", options_.k)
        .field("n", options_.n)
        .field("T_max", options_.T_max)
        .field("threshold", options_.threshold);
    json.field("search", searches[static_cast<std::size_t>(options_.search)]);
    json.field("termination", terminations[static_cast<std::size_t>(options_.termination)]);
    json.field("always_expand_both", options_.always_expand_both).field("compare_across", options_.compare_across);
    json.field("rollout_rounds", options_.rollout_rounds).field("max_calls", options_.budget.calls);
    json.field("max_tokens_total", options_.budget.tokens);
  }

 public:
  static constexpr const char* searches[] = {"pruned", "no_pruning", "full_node"};
  static constexpr const char* terminations[] = {"vote", "mean_f1", "vote_and_f1"};

 private:
  DecExOptions options_;
};

/// The enumerator of that name.
template <class E>
E named(const char* option, const std::string& text, const char* const (&names)[3]) {
  for (int i = 0; i < 3; ++i)
    if (text == names[i]) return static_cast<E>(i);
  bad_option(option, text, std::string(names[0]) + ", " + names[1] + ", " + names[2]);
}

}  // namespace

void bind_decex(py::module_& m) {
  const DecExOptions options;
  py::class_<DecExRag, Search, std::shared_ptr<DecExRag>>(
      m, "DecExRag", "DecEx-RAG: pruned search over decisions and their executions.")
      .def(py::init([](std::uint32_t k, std::uint32_t n, std::uint32_t t_max, double threshold,
                       const std::string& search, const std::string& termination, bool always_expand_both,
                       bool compare_across, std::uint32_t rollout_rounds, std::uint64_t max_calls,
                       std::uint64_t max_tokens_total, py::object reward, const Loop& environment) {
             DecExOptions chosen;
             chosen.k = k;
             chosen.n = n;
             chosen.T_max = t_max;
             chosen.threshold = threshold;
             chosen.search = named<DecExOptions::Search>("search", search, DecExRag::searches);
             chosen.termination = named<DecExOptions::Termination>("termination", termination, DecExRag::terminations);
             chosen.always_expand_both = always_expand_both;
             chosen.compare_across = compare_across;
             chosen.rollout_rounds = rollout_rounds;
             chosen.budget.calls = max_calls;
             chosen.budget.tokens = max_tokens_total;
             return DecExRag(chosen, std::move(reward), environment);
           }),
           py::kw_only(), py::arg("k") = options.k, py::arg("n") = options.n, py::arg("T_max") = options.T_max,
           py::arg("threshold") = options.threshold, py::arg("search") = "pruned", py::arg("termination") = "vote",
           py::arg("always_expand_both") = false, py::arg("compare_across") = false,
           py::arg("rollout_rounds") = options.rollout_rounds, py::arg("max_calls") = 0,
           py::arg("max_tokens_total") = 0, py::arg_v("reward", rag::F1(), "F1()"),
           py::arg_v("environment", m.attr("Environment")(), "Environment()"),
           "The options are those of `espalier options --method decex`; of the environment, max_rounds is not used.");
}

}  // namespace espalier::python
