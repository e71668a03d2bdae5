"""How long the rows are, and which are left out: said before the first step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LengthReport:
    """Rows and their tokens."""

    rows: int
    """That are learned or held out."""
    tokens: int
    learned: int
    """Tokens in the loss."""
    min: int
    median: int
    p95: int
    max: int
    dropped: Mapping[str, int]
    """Rows that are left out, by reason."""

    @property
    def described(self) -> dict[str, Any]:
        return {**vars(self), "dropped": dict(self.dropped)}

    def __str__(self) -> str:
        lost = "".join(f"; {n:,} left out: {why}" for why, n in self.dropped.items())
        return (
            f"{self.rows:,} rows, {self.tokens:,} tokens, {self.learned:,} of them in the loss; "
            f"tokens of a row: min {self.min:,}, median {self.median:,}, p95 {self.p95:,}, max {self.max:,}{lost}"
        )


def at_share(ordered: Sequence[int], share: float) -> int:
    """The nearest-rank quantile of numbers in order, 0 of none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def length_report(lengths: Sequence[int], learned: int, dropped: Counter[str]) -> LengthReport:
    """The report on rows of these lengths. `learned` counts their tokens in the loss."""
    ordered = sorted(lengths)
    return LengthReport(
        rows=len(ordered),
        tokens=sum(ordered),
        learned=learned,
        min=at_share(ordered, 0),
        median=at_share(ordered, 0.5),
        p95=at_share(ordered, 0.95),
        max=at_share(ordered, 1),
        dropped=dict(sorted(dropped.items())),
    )
