#include <espalier/fmt/tree.hpp>
#include <espalier/output/tree_json.hpp>

#include "problem.hpp"
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

/// What Python shows of a state.
std::string state_text(const ProblemState& state) { return py::repr(state.object); }
/// What Python shows of an action.
std::string action_text(const ProblemAction& action) { return py::repr(action.object); }

}  // namespace espalier::python

template <>
struct fmt::formatter<espalier::python::ProblemState> : espalier::detail::Described<&espalier::python::state_text> {};
template <>
struct fmt::formatter<espalier::python::ProblemAction> : espalier::detail::Described<&espalier::python::action_text> {};

namespace espalier::python {

namespace {

using SharedProblemTree = std::shared_ptr<ProblemTree>;

/// One node of a tree. It keeps the tree alive.
struct ProblemNode {
  SharedProblemTree tree;
  NodeId id;

  [[nodiscard]] const Node<double>& node() const { return (*tree)[id]; }
  [[nodiscard]] std::optional<ProblemNode> parent() const {
    if (id == ProblemTree::root()) return std::nullopt;
    return ProblemNode{tree, node().parent};
  }
  [[nodiscard]] std::vector<ProblemNode> children() const {
    std::vector<ProblemNode> nodes;
    for (const NodeId child : tree->children(id)) nodes.push_back({tree, child});
    return nodes;
  }
};

}  // namespace

void bind_problem_tree(py::module_& m) {
  py::class_<ProblemNode>(m, "ProblemNode", "One node of a tree over a problem of one's own.")
      .def_readonly("id", &ProblemNode::id)
      .def_property_readonly("state", [](const ProblemNode& n) { return n.tree->state(n.id).object; })
      .def_property_readonly(
          "action", [](const ProblemNode& n) { return n.tree->action(n.id).object; }, "None at the root.")
      .def_property_readonly("kind", [](const ProblemNode& n) { return n.node().kind; })
      .def_property_readonly(
          "value", [](const ProblemNode& n) { return n.node().mean(); }, "Mean of the values backed up through it.")
      .def_property_readonly("visits", [](const ProblemNode& n) { return n.node().visits; })
      .def_property_readonly("prior", [](const ProblemNode& n) { return n.node().prior; })
      .def_property_readonly("status", [](const ProblemNode& n) { return output::detail::name(n.node().status); })
      .def_property_readonly("parent", &ProblemNode::parent)
      .def_property_readonly("children", &ProblemNode::children)
      .def(
          "__eq__", [](const ProblemNode& a, const ProblemNode& b) { return a.tree == b.tree && a.id == b.id; },
          py::is_operator())
      .def("__hash__", [](const ProblemNode& n) { return n.id; })
      .def("__repr__", [](const ProblemNode& n) {
        return py::str("ProblemNode(id={}, action={!r}, value={}, visits={})")
            .format(n.id, n.tree->action(n.id).object, n.node().mean(), n.node().visits);
      });

  py::class_<ProblemTree, SharedProblemTree>(m, "ProblemTree", "A grown tree over a problem of one's own.")
      .def_property_readonly("root", [](const SharedProblemTree& t) { return ProblemNode{t, ProblemTree::root()}; })
      .def_property_readonly(
          "nodes",
          [](const SharedProblemTree& t) {
            std::vector<ProblemNode> nodes;
            for (NodeId id = 0; id < t->size(); ++id) nodes.push_back({t, id});
            return nodes;
          },
          "Parents before their children.")
      .def("__len__", &ProblemTree::size)
      .def(
          "__str__", [](const ProblemTree& t) { return fmt::format("{}", t); }, "An outline: one line per node.")
      .def("__repr__", [](const ProblemTree& t) { return py::str("ProblemTree({} nodes)").format(t.size()); });
}

}  // namespace espalier::python
