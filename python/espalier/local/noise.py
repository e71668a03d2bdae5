"""The noise of samples, made from counters: it depends on a row's seed, the step and the token, and on nothing else.

Only operations that every device rounds alike are used (whole numbers, and sums, products and quotients of floats), so
it is equal to the bit in any batch, on any processor. A number for each token of a large vocabulary costs a GPU memory
traffic and little else, so these have 4 bytes.
"""

from __future__ import annotations

from typing import Any

GOLDEN = 0x9E3779B9 - (1 << 32)
"""2^32 over the golden ratio, as a signed number."""
FIRST, SECOND = 0x7FEB352D, 0x846CA68B - (1 << 32)
"""Odd multipliers of a mixing function of 32 bits (lowbias32, public domain)."""
LOG2 = 0.6931471805599453


def _shifted(x: Any, bits: int) -> Any:
    """A logical shift to the right: torch's own keeps the sign."""
    return (x >> bits).bitwise_and_((1 << (32 - bits)) - 1)


def mixed(x: Any) -> Any:
    """A bijection of whole numbers of 32 bits, whose outputs look independent."""
    x = _shifted(x, 16).bitwise_xor_(x).mul_(FIRST)
    x = _shifted(x, 15).bitwise_xor_(x).mul_(SECOND)
    return _shifted(x, 16).bitwise_xor_(x)


def exponential(seeds: Any, steps: Any, vocabulary: int) -> Any:
    """Standard exponential numbers, floats above 0, one for each row and token.

    `seeds` and `steps` are whole numbers of 64 bits, one per row, on the device where the numbers are made.
    """
    import torch

    low, high, step = (one.to(torch.int32) for one in (seeds, seeds >> 32, steps))
    rows = mixed(mixed(mixed(low + GOLDEN) + high) + step)
    tokens = torch.arange(1, vocabulary + 1, device=seeds.device, dtype=torch.int32) * GOLDEN
    bits = _shifted(mixed(rows[:, None] + tokens[None, :]), 1)
    return _minus_log_of_rest(bits.float().add_(0.5).mul_(2.0**-31))


def _minus_log_of_rest(v: Any) -> Any:
    """-log(1 - v) of floats in (0, 1), with a relative error below 1e-5, also near 0. Of 1 it is 22.2."""
    import torch

    fraction, power = torch.frexp((1 - v).clamp_(min=2.0**-32))  # fraction in [1/2, 1)
    small = fraction < 0.7071067811865476
    fraction = torch.where(small, fraction * 2, fraction)
    power = power - small.to(power.dtype)
    # -log f = 2 atanh s. Where the power is 0, 1 - f is v itself, which has more digits.
    s = torch.where(power == 0, v, 1 - fraction).div_(fraction.add_(1))
    square = s * s
    series = (square * (1 / 5)).add_(1 / 3).mul_(square).add_(1).mul_(s).mul_(2)
    return series.sub_(power.float().mul_(LOG2))
