#include <espalier/llm/nfkc.hpp>
#include <espalier/rag/metrics.hpp>
#include <espalier/rag/render.hpp>

#include "async_service.hpp"
#include "search.hpp"
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace espalier::python {

template <>
inline double Callable<RewardRequest, double>::read(const py::object& item, const RewardRequest&, std::size_t i) const {
  return finite(item, i);
}

namespace {

Task<std::vector<double>> values_of(Port<RewardRequest, double> port, std::vector<rag::State> states) {
  std::vector<Task<double>> asked;
  for (auto& state : states) asked.push_back(port.ask(RewardRequest(std::move(state))));
  co_return co_await gather(std::move(asked));
}

/// A reward class, with the call that Python rewards have: reward(states) -> values.
template <class Reward>
void bind_reward(py::module_& m, const char* name, const char* doc) {
  py::class_<Reward> type(m, name, doc);
  if constexpr (requires { Reward(rag::profile("")); })
    type.def(py::init([](const std::string& profile) { return Reward(rag::profile(profile)); }),
             py::arg("profile") = "common");
  else type.def(py::init<>());
  type.def(
      "__call__",
      [](const Reward& reward, const std::vector<rag::State>& states) {
        if constexpr (requires { reward.group(std::span<const rag::State>(states)); })
          return reward.group(std::span<const rag::State>(states));
        else {
          std::vector<double> values;
          for (const auto& state : states) values.push_back(reward(state));
          return values;
        }
      },
      py::arg("states"), "One value a state.");
}

}  // namespace

rag::AnyReward make_reward(const py::object& reward, Scheduler& scheduler) {
  if (py::isinstance<rag::F1>(reward)) return rag::AnyReward(reward.cast<rag::F1>());
  if (py::isinstance<rag::ExactMatch>(reward)) return rag::AnyReward(reward.cast<rag::ExactMatch>());
  if (py::isinstance<rag::Accuracy>(reward)) return rag::AnyReward(reward.cast<rag::Accuracy>());
  if (py::isinstance<rag::Agreement>(reward)) return rag::AnyReward(rag::Agreement());
  if (!PyCallable_Check(reward.ptr()))
    throw py::type_error(fmt::format(
        "a reward is F1(), ExactMatch(), Accuracy(), Agreement() or a function reward(states) -> list of float, not {}",
        type_name(reward)));
  auto port = scheduler.port<RewardRequest, double>(make_service<RewardRequest, double>(reward, "reward"));
  return rag::AnyReward(
      rag::AnyReward::Function([port](std::vector<rag::State> states) { return values_of(port, std::move(states)); }));
}

void bind_rewards(py::module_& m) {
  py::class_<rag::State>(m, "State",
                         "Where a search has come to: a question and what happened so far. What rewards see.")
      .def_property_readonly("question", &question_of)
      .def_property_readonly("answer", &rag::State::answer, "The final answer, or None.")
      .def_property_readonly("retrievals", &rag::State::retrievals, "Searches on the path.")
      .def_property_readonly("iterations", &rag::State::iterations, "Sub-questions dealt with, or searches made.")
      .def_property_readonly(
          "segments",
          [](const rag::State& s) {
            using Content = std::variant<std::string, Passages>;
            std::vector<std::pair<std::string, Content>> segments;
            for (const rag::Segment* one : s.transcript().segments())
              segments.emplace_back(rag::name(one->kind()),
                                    one->documents() ? Content(*one->documents()) : std::string(one->words()));
            return segments;
          },
          "(kind, text) of what the model wrote, ('documents', passages) of what was found; oldest first.");

  bind_reward<rag::F1>(m, "F1", "Reward: F1 of the answer's words, the best over the gold answers.");
  bind_reward<rag::ExactMatch>(m, "ExactMatch", "Reward: 1 if the normalised answer equals a gold answer.");
  bind_reward<rag::Accuracy>(m, "Accuracy", "Reward: 1 if a gold answer occurs in the answer.");
  bind_reward<rag::Agreement>(m, "Agreement",
                              "Reward without gold: mean F1 with the other rollouts' answers from the same state.");

  m.def("metric_profiles", &rag::detail::profile_names,
        "The ways of scoring an answer, by name; 'common' is one more name for hotpot's.");
  const auto form = [](const std::string& s) { return rag::detail::form_or_text(espalier::detail::nfkc(s)); };
  m.def("normal_form", form, py::arg("text"), "What equal questions share, however they are typed.");
  m.def(
      "score",
      [](const std::string& profile, const std::optional<std::string>& prediction, const rag::Gold& gold) {
        const rag::Scores scores = rag::score(rag::profile(profile), prediction, gold);
        return py::typing::Dict<py::str, double>(
            py::dict(py::arg("em") = scores.em, py::arg("f1") = scores.f1, py::arg("precision") = scores.precision,
                     py::arg("recall") = scores.recall, py::arg("acc") = scores.acc));
      },
      py::arg("profile"), py::arg("prediction"), py::arg("gold"),
      "em, f1, precision, recall and acc (cover-EM) of an answer under a profile, each in [0, 1]; None is worth 0.");
}

}  // namespace espalier::python
