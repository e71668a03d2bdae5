"""Whether a difference between runs over the same questions could be chance.

Nothing here depends on the version of a random number generator: the draws are a published integer hash (splitmix64) of
their index, so equal scores give equal intervals everywhere.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
SEED = 1
EXACT = 16  # up to so many differences other than 0, every assignment of signs is tried

Floats: TypeAlias = npt.NDArray[np.float64]
Bits: TypeAlias = npt.NDArray[np.uint64]


def bits(seed: int, start: int, count: int) -> Bits:
    """Outputs number `start` to `start + count` of splitmix64 from a seed."""
    index = np.arange(start, start + count, dtype=np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        z: Bits = np.uint64(seed) + index * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    final: Bits = z ^ (z >> np.uint64(31))
    return final


def blocks(seed: int, resamples: int, width: int) -> Iterator[Bits]:
    """`resamples` rows of `width` draws each, a few rows at a time."""
    rows = max(1, (1 << 21) // max(width, 1))
    for first in range(0, resamples, rows):
        count = min(rows, resamples - first)
        yield bits(seed, first * width, count * width).reshape(count, width)


def bootstrap_means(values: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Means [resamples, k] of k scores [k, n] over questions drawn with replacement.

    All k use the same draws, so differences between them are paired. The draws depend only on n and the seed.
    """
    n = values.shape[1]
    means = []
    for block in blocks(seed, resamples, n):
        drawn = ((block >> np.uint64(11)).astype(np.float64) * 2.0**-53 * n).astype(np.int64)
        cells = drawn + n * np.arange(len(drawn))[:, None]
        counts = np.bincount(cells.ravel(), minlength=len(drawn) * n).reshape(len(drawn), n)
        means.append(counts.astype(np.float64) @ values.T / n)
    return np.concatenate(means)


def interval(means: Floats) -> tuple[float, float]:
    """The middle 95 % of bootstrap means (percentile method)."""
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def sign_flip_p(differences: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED) -> float:
    """Two-sided p of a paired permutation test: how often random signs give a mean as far from 0 as the one observed.

    Exact where at most EXACT differences are not 0, else by random signs, the observed ones counted among them.
    """
    d = np.array([x for x in differences if x != 0], dtype=np.float64)
    observed = abs(float(d.sum())) - 1e-9  # sums in another order are no other sums
    if len(d) <= EXACT:
        signs = (np.arange(1 << len(d))[:, None] >> np.arange(len(d))) & 1
        return float(np.mean(np.abs((2.0 * signs - 1) @ d) >= observed))
    extreme = 0
    for block in blocks(seed, resamples, len(d)):
        signs = (block >> np.uint64(63)).astype(np.float64)
        extreme += int(np.count_nonzero(np.abs((2.0 * signs - 1) @ d) >= observed))
    return (1 + extreme) / (1 + resamples)


def paired_test(values: Floats, base: Floats, means: Floats) -> dict[str, Any]:
    """The mean difference of scores over the same questions, the interval of its bootstrap means, and its p."""
    differences = values - base
    p = sign_flip_p(differences.tolist())
    return {"difference": float(np.mean(differences)), "interval": interval(means), "p": p}


def holm(p: Sequence[float]) -> list[float]:
    """p values for a family of tests, adjusted by Holm's step-down rule."""
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted
