"""Small problems with known answers, to try the engines on."""

from __future__ import annotations

from ._core import search_tic_tac_toe

__all__ = ["tic_tac_toe"]


def tic_tac_toe(board: str = ".........", *, simulations: int = 10_000, seed: int = 1) -> list[tuple[int, int, float]]:
    """UCT with one random playout per simulation. The search plays both sides.

    `board` has nine characters in reading order, x moves first. Gives (cell 0 to 8, visits, mean value for x in [-1,
    1]) for each move. The most visited one is the search's choice. Raises ValueError for a board that no game has.
    """
    return search_tic_tac_toe(board, simulations, seed)
