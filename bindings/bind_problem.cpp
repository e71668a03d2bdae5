#include <espalier/policy/prune.hpp>
#include <espalier/search/layered.hpp>
#include <espalier/search/mcts_task.hpp>

#include "names.hpp"
#include "problem_environment.hpp"
#include "problem_policies.hpp"
#include "search.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Searches over problems that are written in Python. The interpreter lock is held throughout.
namespace espalier::python {

namespace {

/// A tree, or the error that ended it, be it a backend's or a policy's.
template <class Engine>
Task<Outcome<ProblemTree>> grow(Engine* engine, ProblemEnvironment* problem, py::object root, Seed seed) {
  try {
    ProblemState state = co_await ProblemEnvironment::known(problem, std::move(root));
    co_return co_await (*engine)(*problem, std::move(state), seed);
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;  // such as Ctrl-C
    co_return std::current_exception();
  } catch (...) {
    co_return std::current_exception();
  }
}

using Grown = std::pair<std::vector<std::shared_ptr<ProblemTree>>, py::dict>;

/// One tree per root, null where a policy failed, or a function as a backend, and {index of the root: error} for those.
template <class Make>
Grown grow_all(const Functions& functions, const std::vector<py::object>& roots, std::uint64_t seed, Make make) {
  Scheduler scheduler;
  scheduler.on_turn(check_signals);
  ProblemEnvironment problem(scheduler, functions);
  auto engine = make(StateValue{port_of<double>(scheduler, functions[3], "value")});
  std::vector<Task<Outcome<ProblemTree>>> tasks;
  for (std::size_t i = 0; i < roots.size(); ++i)
    tasks.push_back(grow(&engine, &problem, roots[i], Seed(seed, std::to_string(i))));
  Grown grown;
  for (auto& outcome : scheduler.run(std::move(tasks))) {
    if (!outcome.ok()) grown.second[py::int_(grown.first.size())] = python_error(outcome.error());
    grown.first.push_back(outcome.ok() ? std::make_shared<ProblemTree>(std::move(outcome).value()) : nullptr);
  }
  return grown;
}

using SelectionChoice = std::variant<Chosen<Uct>, Chosen<Puct>, py::function>;

/// The selection for a tree: the native policy itself, or a Selection that calls a function.
template <class Native>
Native selection_by(const Native& policy, bool) {
  return policy;
}
Selection selection_by(const py::function& function, bool sees_siblings) { return {function, sees_siblings}; }

}  // namespace

void bind_problem(py::module_& m) {
  py::class_<Offer>(m, "Proposal", "An action that might be taken, with its share of the policy.")
      .def(py::init([](py::object action, float prior) {
             if (!(prior >= 0) || !std::isfinite(prior)) bad_option("prior", prior, "0 or more");
             return Offer{std::move(action), prior};
           }),
           py::arg("action"), py::arg("prior") = 1.0F)
      .def_readonly("action", &Offer::action)
      .def_readonly("prior", &Offer::prior)
      .def("__repr__", [](const Offer& o) { return py::str("Proposal({}, {})").format(brief(o.action), o.prior); });

  py::class_<Siblings>(m, "Siblings",
                       "What a selection may read of a node's children besides N, Q and P, one array entry per child.")
      .def_readonly("visits", &Siblings::visits, "Finished visits. N is `visits` + `pending`.")
      .def_readonly("pending", &Siblings::pending, "Simulations under way through the child.")
      .def_readonly("totals", &Siblings::totals, "Sums of values. Q is `totals` / `visits`.")
      .def_readonly("kinds", &Siblings::kinds, "Kinds of the actions that led there.")
      .def_readonly("status", &Siblings::status, "'open', 'growing', 'expanded' or 'terminal'.")
      .def_readonly("evaluated", &Siblings::evaluated, "True where a child has a value of its own.")
      .def_readonly("depth", &Siblings::depth, "Depth of the children. Those of the root have 1.")
      .def_readonly("parent_visits", &Siblings::parent_visits, "N of the node above. Its own evaluations count.")
      .def_readonly("parent_value", &Siblings::parent_value, "Mean value of the node above, 0 before its first visit.")
      .def_readonly("lowest", &Siblings::lowest, "The least value entered in the tree so far, inf if there is none.")
      .def_readonly("highest", &Siblings::highest, "The greatest value entered in the tree, -inf if there is none.");

  m.def(
      "mcts_problem",
      [](const Functions& functions, const std::vector<py::object>& roots, const SelectionChoice& selection,
         bool sees_siblings, const py::object& prune, std::optional<py::function> backup, std::uint32_t simulations,
         std::uint32_t width, std::optional<std::uint32_t> max_depth, std::uint32_t window, const std::string& values,
         std::uint64_t seed) {
        MctsOptions options;
        options.simulations = simulations;
        options.width = width;
        options.max_depth = max_depth.value_or(options.max_depth);
        options.window = window;
        options.values = named<MctsOptions::Values>("values", values, valued_nodes);
        return std::visit(
            [&](const auto& chosen) {
              return grow_all(functions, roots, seed, [&](StateValue evaluate) {
                return Mcts(options, std::move(evaluate), selection_by(chosen, sees_siblings), make_pruning(prune),
                            PathBackup(std::move(backup)));
              });
            },
            selection);
      },
      py::arg("functions"), py::arg("roots"), py::arg("select"), py::arg("sees_siblings"), py::arg("prune"),
      py::arg("backup"), py::arg("simulations"), py::arg("width"), py::arg("max_depth"), py::arg("window"),
      py::arg("values"), py::arg("seed"), "Trees, None where one failed, and {index: error} of those.");
  m.def(
      "layered_problem",
      [](const Functions& functions, const std::vector<py::object>& roots, const py::object& prune, std::uint32_t width,
         std::uint64_t seed) {
        AnyPruning policy = make_pruning(prune);
        if (!policy.keep) policy.keep = TopK(1);
        return grow_all(functions, roots, seed,
                        [&](StateValue evaluate) { return Layered({.width = width}, std::move(evaluate), policy); });
      },
      py::arg("functions"), py::arg("roots"), py::arg("prune"), py::arg("width"), py::arg("seed"), "As mcts_problem.");
}

}  // namespace espalier::python
