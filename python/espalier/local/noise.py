"""The noise of samples, made from counters: it depends on a row's seed, the step and the token, and on nothing else.

Only operations that every device rounds alike are used (whole numbers, and sums, products and quotients of doubles), so
it is equal to the bit in any batch, on any processor.
"""

from __future__ import annotations

from typing import Any

GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
"""2^64 over the golden ratio, as a signed number."""
FIRST, SECOND = 0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64)
"""Odd multipliers of a mixing function of 64 bits (splitmix64, public domain)."""
LOG2 = 0.6931471805599453


def _shifted(x: Any, bits: int) -> Any:
    """A logical shift to the right: torch's own keeps the sign."""
    return (x >> bits).bitwise_and_((1 << (64 - bits)) - 1)


def mixed(x: Any) -> Any:
    """A bijection of whole numbers of 64 bits, whose outputs look independent."""
    x = _shifted(x, 30).bitwise_xor_(x).mul_(FIRST)
    x = _shifted(x, 27).bitwise_xor_(x).mul_(SECOND)
    return _shifted(x, 31).bitwise_xor_(x)


def exponential(seeds: Any, steps: Any, vocabulary: int) -> Any:
    """Standard exponential numbers, doubles above 0, one for each row and token.

    `seeds` and `steps` are whole numbers of 64 bits, one per row, on the device where the numbers are made.
    """
    import torch

    tokens = torch.arange(1, vocabulary + 1, device=seeds.device) * GOLDEN
    rows = mixed(mixed(seeds + GOLDEN) + steps * GOLDEN)
    bits = _shifted(mixed(rows[:, None] + tokens[None, :]), 12)  # 52 of them
    return _log(bits.double().add_(0.5).mul_(2.0**-52)).neg_()


def _log(x: Any) -> Any:
    """The natural logarithm of doubles in (0, 1), with a relative error below 1e-8."""
    import torch

    fraction, power = torch.frexp(x)  # fraction in [1/2, 1)
    small = fraction < 0.7071067811865476
    fraction = torch.where(small, fraction * 2, fraction)
    power = power - small.to(power.dtype)
    s = (fraction - 1).div_(fraction.add_(1))  # log f = 2 atanh s
    square = s * s
    series = square * (1 / 11)
    for odd in (9, 7, 5, 3):
        series.add_(1 / odd).mul_(square)
    return series.add_(1).mul_(s).mul_(2).add_(power.double().mul_(LOG2))
