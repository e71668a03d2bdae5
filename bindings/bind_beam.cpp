#include <espalier/search/beam.hpp>

#include "rewards.hpp"
#include "search.hpp"

namespace espalier::python {

namespace {

using Grower = Beam<Rollout<rag::AnyReward>>;

class BeamSearch final : public Search {
 public:
  BeamSearch(const Grower::Options& options, const RolloutPart& rollout, Loop environment)
      : Search("beam", std::move(environment), rollout.reward), options_(options), rollout_(rollout) {}

  [[nodiscard]] std::unique_ptr<Engine> on(Scheduler& scheduler, ModelPort model, RetrieverPort retriever,
                                           const py::object& chosen_reward) const override {
    auto loop = environment.on(std::move(model), std::move(retriever));
    Grower engine(options_, {{rollout_.n, rollout_.max_steps}, make_reward(chosen_reward, scheduler)});
    return std::make_unique<LoopEngine<Grower>>(std::move(engine), std::move(loop));
  }

 private:
  void show(JsonWriter& json) const override {
    json.field("beam", options_.beam).field("width", options_.width).field("max_depth", options_.max_depth);
    json.field("n", rollout_.n).field("max_steps", rollout_.max_steps);
  }
  Grower::Options options_;
  RolloutPart rollout_;
};

}  // namespace

void bind_beam(py::module_& m) {
  const Grower::Options options;
  py::class_<BeamSearch, Search, std::shared_ptr<BeamSearch>>(m, "Beam", "Beam search over the policy loop.")
      .def(py::init([](const RolloutPart& rollout, std::uint32_t beam, std::uint32_t width, std::uint32_t max_depth,
                       const Loop& environment) {
             const Grower::Options chosen{beam, width, max_depth};
             Grower(chosen, {{rollout.n, rollout.max_steps}, rag::AnyReward(rag::F1())});  // checks the options
             return BeamSearch(chosen, rollout, environment);
           }),
           py::arg("evaluate"), py::kw_only(), py::arg("beam") = options.beam, py::arg("width") = options.width,
           py::arg("max_depth") = options.max_depth, py::arg_v("environment", m.attr("Environment")(), "Environment()"),
           "`beam`: states kept at each depth. `width`: samples per state.");
}

}  // namespace espalier::python
