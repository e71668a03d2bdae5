"""What a claim says of the figures of its arms, and whether they bear it out.

A claim is about the mean of a number over questions and seeds, such as EM of one arm minus EM of another. Its interval
is bootstrapped over both: questions are drawn, the same ones for every seed, and seeds are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from espalier.eval.statistics import RESAMPLES, SEED, Floats, bits, bootstrap_means, interval

HOLDS, FAILS, OPEN, UNTESTED = "holds", "does not hold", "undecided", "not testable"
POINT = 0.01
"""One point of EM or F1: the smallest difference that counts as one."""

Row = Mapping[str, float]
"""The figures of one question in one arm: em, f1, calls and so on."""


@dataclass(frozen=True)
class Comparison:
    """The claim that the mean of `value` lies between `low` and `high`."""

    label: str
    value: Callable[[Mapping[str, Row]], float]
    """From one question's rows, by the names of their arms."""
    low: float = 0.0
    high: float = math.inf
    worth: float = POINT
    """An interval that ends below low + worth speaks against the claim: the difference is too small to count."""
    decides: bool = True
    """False: shown beside the others, outside the verdict."""
    percent: bool = True
    """Shown in points of 100."""

    def untestable(self, values: Floats) -> bool:
        """Whether one arm is to have more, and both have the same in all of [seeds, questions]."""
        return self.low == 0 and self.high == math.inf and not values.any()

    def verdict(self, bounds: tuple[float, float]) -> str:
        least, most = bounds
        if self.low < least and most < self.high:
            return HOLDS
        return FAILS if most < self.low + self.worth or self.high < least else OPEN


def more(figure: str, better: str, worse: str, *, decides: bool = True) -> Comparison:
    """`better` has a higher EM, F1 or share than `worse`."""
    return Comparison(
        f"{figure}: {better} - {worse}", lambda rows: rows[better][figure] - rows[worse][figure], decides=decides
    )


def dearer(figure: str, dear: str, cheap: str, times: float = 1) -> Comparison:
    """`dear` costs more than `times` what `cheap` costs."""
    label = f"{figure}: {dear} - {'' if times == 1 else f'{times:g} x '}{cheap}"
    return Comparison(label, lambda rows: rows[dear][figure] - times * rows[cheap][figure], worth=0, percent=False)


def alike(figure: str, one: str, other: str, margin: float, *, decides: bool = True) -> Comparison:
    """The two differ by less than `margin`."""
    label = f"{figure}: {one} - {other}, within {100 * margin:g}"
    value = lambda rows: rows[one][figure] - rows[other][figure]  # noqa: E731
    return Comparison(label, value, low=-margin, high=margin, worth=0, decides=decides)


def same(figure: str, one: str, other: str, share: float | None = None) -> Comparison:
    """The two have the same number in at least this share of the questions. Without a share it is shown alone."""
    label = f"same {figure}: {one}, {other}" + ("" if share is None else f", above {100 * share:g}")
    value = lambda rows: float(rows[one][figure] == rows[other][figure])  # noqa: E731
    return Comparison(label, value, low=share or 0.0, worth=0, decides=share is not None)


def bounds(values: Floats) -> tuple[float, float]:
    """The middle 95 % of the bootstrap means of values [seeds, questions]."""
    means, seeds = bootstrap_means(values), len(values)
    draws = (bits(SEED + 1, 0, RESAMPLES * seeds) >> np.uint64(11)).astype(np.float64) * 2.0**-53 * seeds
    chosen = np.take_along_axis(means, draws.astype(np.int64).reshape(RESAMPLES, seeds), axis=1)
    return interval(chosen.mean(axis=1))


def overall(verdicts: Sequence[str]) -> str:
    """A claim holds where all its parts hold, and does not where one does not. Else one part that is not testable makes
    it so."""
    return next((one for one in (FAILS, UNTESTED, OPEN) if one in verdicts), HOLDS)
