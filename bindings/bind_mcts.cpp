#include <espalier/search/mcts.hpp>

#include "errors.hpp"
#include "rewards.hpp"
#include "search.hpp"
#include "selection.hpp"
#include <pybind11/stl.h>

#include <optional>
#include <variant>

namespace espalier::python {

namespace {

using Select = std::variant<Chosen<Uct>, Chosen<Puct>>;
using Valued = Rollout<rag::AnyReward>;

class MctsSearch final : public Search {
 public:
  MctsSearch(const MctsOptions& options, const RolloutPart& rollout, Select select, Loop environment)
      : Search("mcts", std::move(environment), rollout.reward),
        options_(options),
        rollout_(rollout),
        select_(std::move(select)) {}

  [[nodiscard]] std::unique_ptr<Engine> on(Scheduler& scheduler, ModelPort model, RetrieverPort retriever,
                                           const py::object& chosen_reward) const override {
    auto loop = environment.on(std::move(model), std::move(retriever));
    Valued value({rollout_.n, rollout_.max_steps}, make_reward(chosen_reward, scheduler));
    return std::visit(
        [&](const auto& select) -> std::unique_ptr<Engine> {
          Mcts engine(options_, std::move(value), select);
          return std::make_unique<LoopEngine<decltype(engine)>>(std::move(engine), std::move(loop));
        },
        select_);
  }

 private:
  void show(JsonWriter& json) const override {
    json.field("simulations", options_.simulations)
        .field("width", options_.width)
        .field("max_depth", options_.max_depth);
    json.field("window", options_.window).field("expand", options_.expand == MctsOptions::Expand::all ? "all" : "one");
    json.field("n", rollout_.n).field("max_steps", rollout_.max_steps);
    if (const auto* uct = std::get_if<Chosen<Uct>>(&select_)) json.field("select", "uct").field("w", uct->options.w);
    else {
      const auto& puct = std::get<Chosen<Puct>>(select_).options;
      json.field("select", "puct").field("c", puct.c).field("unvisited", puct.unvisited);
    }
  }
  MctsOptions options_;
  RolloutPart rollout_;
  Select select_;
};

}  // namespace

void bind_mcts(py::module_& m) {
  py::class_<Chosen<Uct>>(m, "Uct", "UCT: mean + w sqrt(ln N_parent / N).")
      .def(py::init([](double w) { return Chosen<Uct>({w}); }), py::kw_only(), py::arg("w") = Uct::Options().w);
  py::class_<Chosen<Puct>>(
      m, "Puct", "PUCT: mean + c P sqrt(N_parent) / (1 + N); `unvisited` is the mean of a child without visits.")
      .def(py::init([](double c, double unvisited) { return Chosen<Puct>({c, unvisited}); }), py::kw_only(),
           py::arg("c") = Puct::Options().c, py::arg("unvisited") = Puct::Options().unvisited);

  const MctsOptions options;
  py::class_<MctsSearch, Search, std::shared_ptr<MctsSearch>>(m, "Mcts",
                                                              "Monte-Carlo tree search over the policy loop.")
      .def(py::init([](const RolloutPart& rollout, const Select& select, std::uint32_t simulations, std::uint32_t width,
                       std::optional<std::uint32_t> max_depth, std::uint32_t window, const std::string& expand,
                       const Loop& environment) {
             if (expand != "all" && expand != "one") bad_option("expand", expand, "all, one");
             MctsOptions chosen;
             chosen.simulations = simulations;
             chosen.width = width;
             chosen.max_depth = max_depth.value_or(chosen.max_depth);
             chosen.window = window;
             chosen.expand = expand == "all" ? MctsOptions::Expand::all : MctsOptions::Expand::one;
             Mcts(chosen, Valued({rollout.n, rollout.max_steps}, rag::AnyReward(rag::F1())));  // checks the options
             return MctsSearch(chosen, rollout, select, environment);
           }),
           py::arg("evaluate"), py::kw_only(), py::arg_v("select", Chosen<Uct>(), "Uct()"),
           py::arg("simulations") = options.simulations, py::arg("width") = options.width,
           py::arg("max_depth") = py::none(), py::arg("window") = options.window, py::arg("expand") = "all",
           py::arg_v("environment", m.attr("Environment")(), "Environment()"),
           "`width`: samples a node; `window`: simulations under way in one tree, which changes the tree.");
}

}  // namespace espalier::python
