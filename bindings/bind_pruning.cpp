#include <espalier/rag/state.hpp>

#include "errors.hpp"
#include "problem.hpp"
#include "search.hpp"
#include <pybind11/stl.h>

#include <any>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

namespace {

/// What Python reads of one sibling, in the order of its class's fields.
py::tuple row_of(const SiblingTree& tree, NodeId id) {
  const auto& node = tree[id];
  const auto row = [&](const auto& kind, const auto& action) {
    return py::make_tuple(tree.state(id), node.mean(), node.visits, node.prior, kind, action, tree.path(id).size() - 1);
  };
  if (const auto* ours = std::any_cast<rag::Action>(&tree.action(id))) return row(rag::name(ours->kind), ours->text);
  return row(node.kind, std::any_cast<ProblemAction>(tree.action(id)).object);
}

/// One moment of a policy written in Python, asked by espalier.bridge.pruning.
struct PythonMoment {
  std::shared_ptr<py::object> ask;
  Verdict operator()(const SiblingTree& tree, std::span<const NodeId> ids) const {
    const py::gil_scoped_acquire lock;
    py::list rows;
    py::dict children;
    const NodeId parent = tree[ids.front()].parent;
    for (const NodeId id : ids) rows.append(row_of(tree, id));
    for (const NodeId id : tree.children(parent)) children[py::int_(tree.state(id))] = id;
    Verdict verdict;
    try {
      const auto [cut, enough] = (*ask)(rows, children, tree.state(parent))
                                     .cast<std::pair<std::vector<std::pair<NodeId, std::uint8_t>>, bool>>();
      for (const auto& [id, reason] : cut) verdict.cut.emplace_back(id, static_cast<Reason>(reason));
      verdict.enough = enough;
    } catch (const py::error_already_set& error) {
      if (!error.matches(error_class("PolicyError"))) throw;
      throw PythonPolicyError(py::str(error.value()).cast<std::string>(), error.value().attr("__cause__"));
    }
    return verdict;
  }
};

/// Policies one after the other, all of them at another moment than their own if one is named.
AnyPruning joined(const py::args& policies, const std::string& moment) {
  AnyPruning all;
  for (const py::handle policy : policies) {
    AnyPruning one = make_pruning(py::reinterpret_borrow<py::object>(policy));
    if (!moment.empty()) one.refuse(moment, true, true);
    if (moment == "keep") one = {"keep:" + one.name, {}, {}, one.at};
    if (moment == "before") one = {"before:" + one.name, one.at};
    all = all.then(one);
  }
  return all;
}

}  // namespace

AnyPruning make_pruning(const py::object& policy) {
  if (policy.is_none()) return {};
  if (halved(policy)) throw std::invalid_argument("prune holds half of a surrogate pair");
  if (PyUnicode_Check(policy.ptr())) return pruning_of(policy.cast<std::string>());
  if (py::isinstance<AnyPruning>(policy)) return policy.cast<AnyPruning>();
  const auto [name, asks] = py::module_::import("espalier.bridge.pruning")
                                .attr("moments_of")(policy)
                                .cast<std::pair<std::string, std::array<py::object, 3>>>();
  AnyPruning made{name};
  AnyPruning::Moment* const moments[] = {&made.before, &made.at, &made.keep};
  for (unsigned i = 0; i < asks.size(); ++i)
    if (!asks[i].is_none()) *moments[i] = PythonMoment{shared(asks[i])};
  return made;
}

void bind_pruning(py::module_& m) {
  py::class_<AnyPruning>(m, "Pruning", "Pruning policies that any engine takes, asked one after the other.")
      .def(py::init(&joined), py::kw_only(), py::arg("moment") = "")
      .def_readonly("name", &AnyPruning::name, "What errors and records call it.")
      .def(py::pickle(
          [](const AnyPruning& policy) {
            try {
              return py::make_tuple(pruning_of(policy.name).name);
            } catch (const std::invalid_argument&) {
              throw py::type_error("a pruning policy with a function cannot be copied or pickled: " + policy.name);
            }
          },
          [](const py::tuple& state) { return pruning_of(state[0].cast<std::string>()); }));
}

}  // namespace espalier::python
