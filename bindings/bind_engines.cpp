#include <espalier/search/beam.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/search/rollout.hpp>

#include "errors.hpp"
#include "names.hpp"
#include "search.hpp"
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace espalier::python {

namespace {

using Select = std::variant<Chosen<Uct>, Chosen<Puct>>;

constexpr Names<3> first_plays{"infinite", "parent", "constant"};
constexpr Names<2> expansions{"all", "one"};
constexpr Names<2> collisions{"wait", "evaluate"};
constexpr Names<2> visit_counts{"parent", "children"};
constexpr Names<6> priors{"given", "uniform", "counts", "mean_logprob", "sum_logprob", "scored"};

class MctsSearch final : public Search {
 public:
  MctsSearch(const MctsOptions& options, const RolloutPart& rollout, bool graft, Select select, AnyPruning prune,
             Loop environment)
      : Search("mcts", std::move(environment), rollout.reward),
        options_(options),
        rollout_(rollout),
        graft_(graft),
        select_(std::move(select)),
        prune_(std::move(prune)) {
    prune_.refuse("Mcts", true, true);
  }

  [[nodiscard]] Grow on(Scheduler& scheduler, ModelPort model, RetrieverPort retriever,
                        const py::object& chosen_reward) const override {
    auto loop = environment.on(std::move(model), std::move(retriever));
    auto reward = make_reward(chosen_reward, scheduler);
    return graft_ ? valued(std::move(loop), std::move(reward), Grafted())
                  : valued(std::move(loop), std::move(reward), espalier::detail::SameEnvironment());
  }

 private:
  template <class Policy>
  [[nodiscard]] Grow valued(rag::Environment loop, rag::AnyReward reward, Policy policy) const {
    Rollout value({rollout_.n, rollout_.max_steps}, std::move(reward), policy);
    return std::visit(
        [&](const auto& by) { return over_loop(Mcts(options_, std::move(value), by, prune_), std::move(loop)); },
        select_);
  }
  void show(JsonWriter& json) const override {
    json.field("simulations", options_.simulations)
        .field("width", options_.width)
        .field("max_depth", options_.max_depth);
    json.field("window", options_.window).field("expand", name_of(options_.expand, expansions));
    json.field("collision", name_of(options_.collision, collisions));
    json.field("values", name_of(options_.values, valued_nodes)).field("solve", options_.solve);
    json.field("widen_k", options_.widen_k).field("widen_alpha", options_.widen_alpha);
    json.field("prior", options_.prior.name()).field("tau", options_.prior.tau);
    json.field("n", rollout_.n).field("max_steps", rollout_.max_steps).field("graft", graft_);
    if (const auto* uct = std::get_if<Chosen<Uct>>(&select_)) json.field("select", "uct").field("w", uct->options.w);
    if (const auto* puct = std::get_if<Chosen<Puct>>(&select_)) {
      json.field("select", "puct").field("c", puct->options.c);
      json.field("visits", name_of(puct->options.visits, visit_counts));
    }
    std::visit(
        [&](const auto& select) {
          const auto& numbers = select.options;
          json.field("first_play", name_of(numbers.first_play, first_plays)).field("unvisited", numbers.unvisited);
        },
        select_);
    if (!prune_.empty()) json.field("prune", prune_.name);
  }
  MctsOptions options_;
  RolloutPart rollout_;
  bool graft_;
  Select select_;
  AnyPruning prune_;
};

/// The options that both policies have, beside their weights.
template <class Policy>
typename Policy::Options first_of(const std::string& first_play, double unvisited) {
  typename Policy::Options chosen;
  chosen.first_play = named<FirstPlay>("first_play", first_play, first_plays);
  chosen.unvisited = unvisited;
  return chosen;
}

void bind_uct(py::module_& m) {
  const Uct::Options defaults;
  py::class_<Chosen<Uct>>(m, "Uct", "UCT: mean + w sqrt(ln N_parent / N).")
      .def(py::init([](double w, const std::string& first_play, double unvisited) {
             auto chosen = first_of<Uct>(first_play, unvisited);
             chosen.w = w;
             return Chosen<Uct>(chosen);
           }),
           py::kw_only(), py::arg("w") = defaults.w, py::arg("first_play") = name_of(defaults.first_play, first_plays),
           py::arg("unvisited") = defaults.unvisited,
           "`first_play`: the mean of a child without visits: infinite, parent, constant (`unvisited`).");
}

void bind_puct(py::module_& m) {
  const Puct::Options defaults;
  py::class_<Chosen<Puct>>(m, "Puct", "PUCT: mean + c P sqrt(N_parent) / (1 + N).")
      .def(py::init([](double c, const std::string& first_play, double unvisited, const std::string& visits) {
             auto chosen = first_of<Puct>(first_play, unvisited);
             chosen.c = c;
             chosen.visits = named<Puct::Visits>("visits", visits, visit_counts);
             return Chosen<Puct>(chosen);
           }),
           py::kw_only(), py::arg("c") = defaults.c, py::arg("first_play") = name_of(defaults.first_play, first_plays),
           py::arg("unvisited") = defaults.unvisited, py::arg("visits") = name_of(defaults.visits, visit_counts),
           "As `Uct`. `visits`, what stands under the square root: parent, or children for the sum of their N.");
}

using Grower = Beam<Rollout<rag::AnyReward>, AnyPruning>;

class BeamSearch final : public Search {
 public:
  BeamSearch(const Grower::Options& options, const RolloutPart& rollout, AnyPruning prune, Loop environment)
      : Search("beam", std::move(environment), rollout.reward),
        options_(options),
        rollout_(rollout),
        prune_(std::move(prune)) {
    Grower(options, {{rollout.n, rollout.max_steps}, rag::AnyReward(rag::F1())}, prune_);  // checks both
  }

  [[nodiscard]] Grow on(Scheduler& scheduler, ModelPort model, RetrieverPort retriever,
                        const py::object& chosen_reward) const override {
    Grower engine(options_, {{rollout_.n, rollout_.max_steps}, make_reward(chosen_reward, scheduler)}, prune_);
    return over_loop(std::move(engine), environment.on(std::move(model), std::move(retriever)));
  }

 private:
  void show(JsonWriter& json) const override {
    json.field("beam", options_.beam).field("width", options_.width).field("max_depth", options_.max_depth);
    json.field("n", rollout_.n).field("max_steps", rollout_.max_steps);
    if (!prune_.empty()) json.field("prune", prune_.name);
  }
  Grower::Options options_;
  RolloutPart rollout_;
  AnyPruning prune_;
};

void bind_beam(py::module_& m) {
  const Grower::Options options;
  py::class_<BeamSearch, Search, std::shared_ptr<BeamSearch>>(m, "Beam", "Beam search over the policy loop.")
      .def(py::init([](const RolloutPart& rollout, std::uint32_t beam, std::uint32_t width, std::uint32_t max_depth,
                       const py::object& prune, const Loop& environment) {
             return BeamSearch({beam, width, max_depth}, rollout, make_pruning(prune), environment);
           }),
           py::arg("evaluate"), py::kw_only(), py::arg("beam") = options.beam, py::arg("width") = options.width,
           py::arg("max_depth") = options.max_depth, py::arg("prune") = py::none(),
           py::arg_v("environment", m.attr("Environment")(), "Environment()"),
           "`beam`: states kept at each depth. `width`: samples per state. `prune`: what is cut besides.");
}

}  // namespace

void bind_engines(py::module_& m) {
  bind_uct(m);
  bind_puct(m);
  bind_beam(m);

  const MctsOptions defaults;
  py::class_<MctsSearch, Search, std::shared_ptr<MctsSearch>>(m, "Mcts",
                                                              "Monte-Carlo tree search over the policy loop.")
      .def(py::init([](const RolloutPart& rollout, const Select& select, std::uint32_t simulations, std::uint32_t width,
                       std::optional<std::uint32_t> max_depth, std::uint32_t window, const std::string& expand,
                       const std::string& collision, const std::string& values, bool solve, double widen_k,
                       double widen_alpha, const std::string& prior, double tau, bool graft, const py::object& prune,
                       const Loop& environment) {
             MctsOptions chosen;
             chosen.simulations = simulations;
             chosen.width = width;
             chosen.max_depth = max_depth.value_or(chosen.max_depth);
             chosen.window = window;
             chosen.expand = named<MctsOptions::Expand>("expand", expand, expansions);
             chosen.collision = named<MctsOptions::Collision>("collision", collision, collisions);
             chosen.values = named<MctsOptions::Values>("values", values, valued_nodes);
             chosen.solve = solve;
             chosen.widen_k = widen_k;
             chosen.widen_alpha = widen_alpha;
             chosen.prior = {named<PriorSource>("prior", prior, priors), tau};
             chosen.check();
             return MctsSearch(chosen, rollout, graft, select, make_pruning(prune), environment);
           }),
           py::arg("evaluate"), py::kw_only(), py::arg_v("select", Chosen<Uct>(), "Uct()"),
           py::arg("simulations") = defaults.simulations, py::arg("width") = defaults.width,
           py::arg("max_depth") = py::none(), py::arg("window") = defaults.window, py::arg("expand") = "all",
           py::arg("collision") = "wait", py::arg("values") = "first", py::arg("solve") = false,
           py::arg("widen_k") = defaults.widen_k, py::arg("widen_alpha") = defaults.widen_alpha,
           py::arg("prior") = "given", py::arg("tau") = defaults.prior.tau, py::arg("graft") = false,
           py::arg("prune") = py::none(), py::arg_v("environment", m.attr("Environment")(), "Environment()"),
           "`width`: samples per node. `window`: simulations under way in one tree, which changes the tree. "
           "`collision`: wait, evaluate. `values`, which nodes get their own: first, each, leaf (as OpenSpiel), alike, "
           "all. `solve`: do not select solved nodes again. `widen_k`, `widen_alpha`: progressive widening. `prior`: "
           "given, uniform, counts, mean_logprob, sum_logprob, scored. `graft`: rollouts' steps become nodes. `prune`: "
           "which nodes are cut.");
}

}  // namespace espalier::python
