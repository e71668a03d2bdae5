"""The toy problems."""

from __future__ import annotations

import pytest
from espalier.toy import tic_tac_toe


def choice(board: str) -> int:
    return max(tic_tac_toe(board, simulations=5000), key=lambda move: move[1])[0]


def test_the_search_wins_where_it_can_and_blocks_where_it_must():
    assert choice("xx.oo....") == 2
    assert choice("xx.o.....") == 2  # o is to move and has to block
    assert choice("x.o.x.o..") == 8


def test_the_empty_board_has_nine_moves_and_every_simulation_visits_one():
    moves = tic_tac_toe(simulations=1000)
    assert [cell for cell, _, _ in moves] == list(range(9))
    assert sum(visits for _, visits, _ in moves) == 1000
    assert tic_tac_toe(simulations=1000) == moves


@pytest.mark.parametrize("board", ["", "xx.......", "o........", "z........", "x" * 10])
def test_a_board_that_no_game_has_is_refused(board: str):
    with pytest.raises(ValueError, match="board"):
        tic_tac_toe(board)
