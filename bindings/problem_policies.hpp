#pragma once

#include <espalier/output/tree_json.hpp>
#include <espalier/policy/backup.hpp>

#include "errors.hpp"
#include <fmt/format.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Policies written in Python. Each is called once per node with arrays that have one entry per child.
namespace espalier::python {

/// One number per node, as an array.
template <class Number, class Get>
py::array_t<Number> column(const std::vector<NodeId>& ids, Get get) {
  py::array_t<Number> array(static_cast<py::ssize_t>(ids.size()));
  std::transform(ids.begin(), ids.end(), array.mutable_data(), get);
  return array;
}

using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// A policy's reply as numbers, if there are as many as expected.
inline std::vector<double> floats(const py::object& reply, std::size_t expected, const std::string& role) {
  const auto array = Doubles::ensure(reply);
  if (!array) PyErr_Clear();
  const std::string came = !array              ? type_name(reply)
                           : array.ndim() != 1 ? fmt::format("an array of {} dimensions", array.ndim())
                                               : fmt::format("an array of {}", array.size());
  if (!array || array.ndim() != 1 || static_cast<std::size_t>(array.size()) != expected)
    throw py::value_error(fmt::format("the {} must return an array of {}, but it returned {}", role, expected, came));
  std::vector<double> numbers(array.data(), array.data() + expected);
  if (std::any_of(numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); }))
    throw py::value_error(
        fmt::format("the {} must return numbers, but it returned {}", role, py::repr(array).cast<std::string>()));
  return numbers;
}

/// What a native selection reads besides N, Q and P: of the children, as arrays, and of the node above them.
struct Siblings {
  py::array visits, pending, totals, kinds, status, evaluated;
  std::uint32_t depth = 0;  ///< of the children. Those of the root have 1
  double parent_visits, parent_value, lowest, highest;

  template <class Tree>
  Siblings(const Tree& tree, NodeId parent, const std::vector<NodeId>& ids)
      : visits(column<std::int64_t>(ids, [&](NodeId id) { return tree[id].visits; })),
        pending(column<std::int64_t>(ids, [&](NodeId id) { return tree[id].pending; })),
        totals(column<double>(ids, [&](NodeId id) { return tree[id].total; })),
        kinds(column<std::int64_t>(ids, [&](NodeId id) { return tree[id].kind; })),
        evaluated(column<bool>(ids, [&](NodeId id) { return tree[id].evaluated; })),
        parent_visits(double(tree[parent].visits) + tree[parent].pending),
        parent_value(tree[parent].mean()),
        lowest(tree.lowest),
        highest(tree.highest) {
    py::list names;
    for (const NodeId id : ids) names.append(output::detail::name(tree[id].status));
    status = py::array(std::move(names));
    for (NodeId id = parent; id != no_node; id = tree[id].parent) ++depth;
  }
};

/// A function of one node's children that are not pruned: selection(N, Q, P) -> scores. It may ask for all that a
/// native one sees, as `siblings`.
class Selection {
 public:
  Selection(py::function function, bool sees_siblings)
      : function_(std::move(function)), sees_siblings_(sees_siblings) {}

  template <class Tree>
  [[nodiscard]] auto at(const Tree& tree, NodeId parent) const {
    std::vector<NodeId> ids = tree.children(parent);
    std::erase_if(ids, [&](NodeId id) { return tree[id].status == Status::pruned; });
    const auto visits = [&](NodeId id) { return std::int64_t(tree[id].visits) + tree[id].pending; };
    const auto mean = [&](NodeId id) {  // the parent's while all visits are under way
      const auto& known = tree[id].visits == 0 && tree[id].pending > 0 ? tree[parent] : tree[id];
      return known.total / std::max(known.visits, 1U);
    };
    const auto prior = [&](NodeId id) { return static_cast<double>(tree[id].prior); };
    py::dict more;
    if (sees_siblings_) more["siblings"] = Siblings(tree, parent, ids);
    const py::object reply =
        function_(column<std::int64_t>(ids, visits), column<double>(ids, mean), column<double>(ids, prior), **more);
    auto scores = floats(reply, ids.size(), "selection");
    return [ids = std::move(ids), scores = std::move(scores)](NodeId id) {
      return scores[static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin())];
    };
  }

 private:
  py::function function_;
  bool sees_siblings_;
};

/// Mean backup, or a function of the nodes from the leaf to the root: backup(value, N, W) -> totals W. N includes this
/// visit.
class PathBackup {
 public:
  explicit PathBackup(std::optional<py::function> function) : function_(std::move(function)) {}
  template <class Tree>
  void operator()(Tree& tree, NodeId leaf, double value) const {
    check_signals();  // once per simulation
    if (!function_) return MeanBackup()(tree, leaf, value);
    auto path = tree.path(leaf);
    std::reverse(path.begin(), path.end());
    for (const NodeId id : path) ++tree[id].visits;
    const py::object reply = (*function_)(value, column<std::int64_t>(path, [&](NodeId id) { return tree[id].visits; }),
                                          column<double>(path, [&](NodeId id) { return tree[id].total; }));
    const auto totals = floats(reply, path.size(), "backup");
    for (std::size_t i = 0; i < path.size(); ++i) tree[path[i]].total = totals[i];
  }

 private:
  std::optional<py::function> function_;
};

}  // namespace espalier::python
