#include <espalier/search/mcts.hpp>
#include <espalier/toy/two_players.hpp>

#include "bindings.hpp"
#include <pybind11/stl.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace espalier::python {

namespace {

/// Plays both sides of tic-tac-toe from a board of nine cells. 'x' moves first.
std::vector<std::tuple<int, std::uint32_t, double>> search_tic_tac_toe(const std::string& board,
                                                                       std::uint32_t simulations, std::uint64_t seed) {
  toy::TwoPlayers::State state;
  int balance = 0;
  if (board.size() != 9) bad_option("board", board, "nine characters of x, o and .");
  for (unsigned cell = 0; cell < 9; ++cell) {
    if (board[cell] == '.') continue;
    if (board[cell] != 'x' && board[cell] != 'o') bad_option("board", board, "nine characters of x, o and .");
    auto& marks = state.marks[board[cell] == 'x' ? 0 : 1];
    marks = static_cast<std::uint16_t>(marks | 1U << cell);
    balance += board[cell] == 'x' ? 1 : -1;
  }
  if (balance != 0 && balance != 1) bad_option("board", board, "as many x as o, or one more");
  state.turn = static_cast<std::uint8_t>(balance);
  toy::TwoPlayers game;
  Mcts<toy::TwoPlayers::Playout, toy::TwoPlayers::Uct> engine({.simulations = simulations, .width = 9},
                                                              toy::TwoPlayers::Playout(), toy::TwoPlayers::Uct());
  const auto tree = [&] {
    const py::gil_scoped_release unlock;
    return engine.search(game, state, Seed(seed, board));
  }();
  std::vector<std::tuple<int, std::uint32_t, double>> moves;
  for (const NodeId child : tree.children(tree.root()))
    moves.emplace_back(tree.action(child), tree[child].visits, tree[child].mean());
  return moves;
}

}  // namespace

void bind_toy(py::module_& m) {
  m.def("search_tic_tac_toe", &search_tic_tac_toe, py::arg("board"), py::arg("simulations"), py::arg("seed"),
        "(cell 0 to 8, visits, mean value for x in [-1, 1]) of each move, by UCT with random playouts.");
}

}  // namespace espalier::python
