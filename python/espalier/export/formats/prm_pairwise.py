"""Pairs for a reward model: TRL's RewardTrainer, OpenRLHF. A column `margin` is subtracted from the difference of
the two rewards in their loss, so it is written where it is asked for alone."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Pair
from . import dpo_explicit


def rows(pair: Pair, choices: Choices) -> Iterator[Columns]:
    if choices.margin and pair.margin is None:
        raise ValueError(f"pair '{pair.origin.id}' has no rewards to take a margin from")
    for row in dpo_explicit.rows(pair, choices):
        yield {**row, "margin": pair.margin} if choices.margin else row


FORMAT = Format("prm.pairwise", ("trl", "openrlhf"), ("prm", "dpo"), Pair, rows)
