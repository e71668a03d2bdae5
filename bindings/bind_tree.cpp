#include <espalier/core/error.hpp>
#include <espalier/fmt/tree.hpp>
#include <espalier/output/answers.hpp>

#include "environment.hpp"
#include "problem.hpp"
#include "tree.hpp"
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <map>
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

using SharedTree = std::shared_ptr<GrownTree>;

/// The tree that a Python object holds.
const rag::Tree& tree_in(const GrownTree& grown) { return grown.tree; }
const ProblemTree& tree_in(const ProblemTree& grown) { return grown; }

/// One node of a tree. It keeps the tree alive.
template <class Grown>
struct View {
  std::shared_ptr<Grown> grown;
  NodeId id;

  [[nodiscard]] const auto& tree() const { return tree_in(*grown); }
  [[nodiscard]] const Node<double>& node() const { return tree()[id]; }
  [[nodiscard]] std::optional<View> parent() const {
    return node().parent == no_node ? std::nullopt : std::optional(View{grown, node().parent});
  }
  [[nodiscard]] std::vector<View> children() const {
    std::vector<View> nodes;
    for (const NodeId child : tree().children(id)) nodes.push_back({grown, child});
    return nodes;
  }
};
using NodeView = View<GrownTree>;
using ProblemNode = View<ProblemTree>;

/// Registers what nodes of both sorts have.
template <class Grown>
auto bind_view(py::module_& m, const char* name, const char* doc) {
  using Seen = View<Grown>;
  return py::class_<Seen>(m, name, doc)
      .def_readonly("id", &Seen::id)
      .def_property_readonly(
          "value", [](const Seen& n) { return n.node().mean(); }, "Mean of the values backed up through it.")
      .def_property_readonly("visits", [](const Seen& n) { return n.node().visits; })
      .def_property_readonly("prior", [](const Seen& n) { return n.node().prior; })
      .def_property_readonly("status", [](const Seen& n) { return output::detail::name(n.node().status); })
      .def_property_readonly("parent", &Seen::parent)
      .def_property_readonly("children", &Seen::children)
      .def(
          "__eq__", [](const Seen& a, const Seen& b) { return a.grown == b.grown && a.id == b.id; }, py::is_operator())
      .def("__hash__", [](const Seen& n) { return n.id; });
}

/// Registers what trees of both sorts have.
template <class Bound>
void bind_nodes(Bound& bound) {
  using Grown = typename Bound::type;
  bound.def_property_readonly("root", [](const std::shared_ptr<Grown>& t) { return View<Grown>{t, rag::Tree::root()}; })
      .def_property_readonly(
          "nodes",
          [](const std::shared_ptr<Grown>& t) {
            std::vector<View<Grown>> nodes;
            for (NodeId id = 0; id < tree_in(*t).size(); ++id) nodes.push_back({t, id});
            return nodes;
          },
          "Parents before their children.")
      .def("__len__", [](const Grown& t) { return tree_in(t).size(); })
      .def("__str__", [](const Grown& t) { return fmt::format("{}", tree_in(t)); }, "An outline: one line per node.");
}

using Row = py::typing::Dict<py::str, py::object>;
Row loads(const std::string& json) { return py::module_::import("json").attr("loads")(json); }

std::string to_json(const GrownTree& tree) {
  std::string line;
  output::append_tree(tree.record(), line);
  line.pop_back();
  return line;
}

TreeState state_of(const GrownTree& tree) {
  return {to_json(tree), tree.prompts ? tree.prompts->texts() : rag::PromptSet::Texts()};
}

void bind_node(py::module_& m) {
  bind_view<GrownTree>(m, "Node", "One node of a tree.")
      .def_property_readonly("kind",
                             [](const NodeView& n) -> std::optional<std::string> {
                               if (n.id == rag::Tree::root()) return std::nullopt;
                               return rag::name(n.tree().action(n.id).kind);
                             })
      .def_property_readonly(
          "text", [](const NodeView& n) { return n.tree().action(n.id).text; },
          "The answer, sub-question or query; the raw reply if it could not be read.")
      .def_property_readonly("thought", [](const NodeView& n) { return n.tree().action(n.id).thought; })
      .def_property_readonly("state", [](const NodeView& n) { return n.tree().state(n.id); })
      .def_property_readonly(
          "reward", [](const NodeView& n) { return output::rewards(n.tree())[n.id]; },
          "Its own: the mean over its rollouts, or None.")
      .def_property_readonly(
          "reason",
          [](const NodeView& n) -> std::optional<std::string> {
            if (n.node().reason == Reason::none) return std::nullopt;
            return output::detail::name(n.node().reason);
          },
          "Why it was pruned, or None.")
      .def("__repr__", [](const NodeView& n) {
        return py::str("Node(id={}, text={}, value={}, visits={})")
            .format(n.id, brief(n.tree().action(n.id).text), n.node().mean(), n.node().visits);
      });
}

void bind_problem_tree(py::module_& m) {
  bind_view<ProblemTree>(m, "ProblemNode", "One node of a tree over a problem of one's own.")
      .def_property_readonly("state", [](const ProblemNode& n) { return n.tree().state(n.id).object; })
      .def_property_readonly(
          "action", [](const ProblemNode& n) { return n.tree().action(n.id).object; }, "None at the root.")
      .def_property_readonly("kind", [](const ProblemNode& n) { return n.node().kind; })
      .def("__repr__", [](const ProblemNode& n) {
        return py::str("ProblemNode(id={}, action={}, value={}, visits={})")
            .format(n.id, brief(n.tree().action(n.id).object), n.node().mean(), n.node().visits);
      });
  py::class_<ProblemTree, std::shared_ptr<ProblemTree>> tree(m, "ProblemTree",
                                                             "A grown tree over a problem of one's own.");
  bind_nodes(tree);
  tree.def("__repr__", [](const ProblemTree& t) { return py::str("ProblemTree({} nodes)").format(t.size()); });
}

}  // namespace

void bind_tree(py::module_& m) {
  bind_node(m);
  bind_problem_tree(m);
  py::class_<GrownTree, SharedTree> bound(m, "Tree",
                                          "A grown tree: what was tried, what it was worth, what was cut and why.");
  bind_nodes(bound);
  bound
      .def_property_readonly("question",
                             [](const GrownTree& t) { return question_of(t.tree.state(rag::Tree::root())); })
      .def_readonly("method", &GrownTree::method)
      .def_readonly("seed", &GrownTree::seed, "Of the run.")
      .def_property_readonly("options", [](const GrownTree& t) { return loads(t.options); })
      .def_property_readonly(
          "status", [](const GrownTree& t) { return output::detail::answer_row(t.record()).status; },
          "'done', 'budget', or 'failed': it ended without any answer.")
      .def_property_readonly(
          "error",
          [](const GrownTree& t) -> std::optional<std::string> {
            const output::detail::AnswerRow row = output::detail::answer_row(t.record());
            return row.error.empty() ? std::nullopt : std::optional(row.error);
          },
          "Why it failed, or None.")
      .def_property_readonly(
          "oracle", [](const GrownTree& t) { return output::oracle(t.tree); },
          "Gold answers may have steered it: its search had them. Its scores are no measure of a method.")
      .def_property_readonly(
          "costs",
          [](const GrownTree& t) {
            py::typing::Dict<py::str, py::typing::Dict<py::str, py::int_>> purposes;
            for (const auto& [purpose, costs] : t.tree.ledger.by_purpose()) {
              py::dict entry(py::arg("completions") = costs.completions, py::arg("prompt_tokens") = costs.prompt_tokens,
                             py::arg("completion_tokens") = costs.completion_tokens,
                             py::arg("retrievals") = costs.retrievals);
              for (const auto& [name, field] : espalier::detail::rare_counts) entry[name] = costs.*field;
              purposes[py::str(purpose)] = entry;
            }
            return purposes;
          },
          "Logical costs by purpose; `unread`: completions that could not be read, `cut`: those of them that "
          "max_tokens ended, `cut_read`: the others that it ended, `refused`: answers from memory that say they do not "
          "know, `repairs` and `repaired`: replies that were asked again, and those of them that could be read then, "
          "`constrained`: completions under a grammar, `thinking_tokens`: of completion_tokens, those of thoughts.")
      .def_property_readonly(
          "first_unread",
          [](const GrownTree& t) {
            std::map<std::string, std::pair<std::string, std::optional<std::uint64_t>>> purposes;
            for (const auto& [purpose, unread] : t.tree.ledger.first_unread())
              purposes[purpose] = {unread.text, unread.cut_at > 0 ? std::optional(unread.cut_at) : std::nullopt};
            return purposes;
          },
          "By purpose, how the first completion that could not be read begins, and the max_tokens that ended it, if "
          "they did.")
      .def_property_readonly(
          "outside", [](const GrownTree& t) { return t.tree.outside; },
          "A warning: the first value outside the range that the search declares, '' = none.")
      .def("to_json", &to_json, "The tree as a line of trees.jsonl, without the line's end.")
      .def("to_dict", [](const GrownTree& t) { return loads(to_json(t)); })
      .def(
          "to_row",
          [](const GrownTree& t) {
            std::string line;
            output::detail::append_answer_row(output::detail::answer_row(t.record()), line);
            return loads(line);
          },
          "Its row of answers.jsonl.")
      .def_property_readonly(
          "best_node",
          [](const SharedTree& t) -> std::optional<NodeView> {
            const auto best = output::best_answer(t->tree);
            return best ? std::optional(NodeView{t, best->node}) : std::nullopt;
          },
          "The node at which its best answer stands, or whose rollouts gave it. None if it holds no answer.")
      .def(py::pickle(&state_of, &tree_of))
      .def("__repr__", [](const GrownTree& t) {
        return py::str("Tree({}, {} nodes)")
            .format(brief(t.tree.state(rag::Tree::root()).question().text), t.tree.size());
      });

  m.def(
      "best_answer",
      [](const GrownTree& tree) -> std::optional<std::string> {
        const auto best = output::best_answer(tree.tree);
        return best ? std::optional(best->text) : std::nullopt;
      },
      py::arg("tree"), "The answer of the chain with the highest reward; None if the tree holds none.");
}

}  // namespace espalier::python
