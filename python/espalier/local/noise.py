"""The noise of samples, made from counters: it depends on a row's seed, the step and the token, and on nothing else.

Only operations that every device rounds alike are used (whole numbers, and sums, products and quotients of floats), so
it is equal to the bit in any batch, on any processor. A number for each token of a large vocabulary costs a GPU memory
traffic and little else, so these have 4 bytes.
"""

from __future__ import annotations

from typing import Any

LOG2 = 0.6931471805599453


def _signed(number: int, width: int) -> int:
    """The signed whole number with the same bits."""
    return number - (number >> (width - 1) << width)


GOLDEN = _signed(0x9E3779B97F4A7C15, 64)
"""2^64 over the golden ratio."""
GOLDEN_32 = _signed(0x9E3779B9, 32)


def _shifted(x: Any, bits: int, width: int) -> Any:
    """A logical shift to the right: torch's own keeps the sign."""
    return (x >> bits).bitwise_and_((1 << (width - bits)) - 1)


def mixed(x: Any) -> Any:
    """A bijection of whole numbers of 64 bits, whose outputs look independent (splitmix64, public domain)."""
    x = _shifted(x, 30, 64).bitwise_xor_(x).mul_(_signed(0xBF58476D1CE4E5B9, 64))
    x = _shifted(x, 27, 64).bitwise_xor_(x).mul_(_signed(0x94D049BB133111EB, 64))
    return _shifted(x, 31, 64).bitwise_xor_(x)


def mixed_32(x: Any) -> Any:
    """Such a bijection for 32 bits (lowbias32, public domain)."""
    x = _shifted(x, 16, 32).bitwise_xor_(x).mul_(_signed(0x7FEB352D, 32))
    x = _shifted(x, 15, 32).bitwise_xor_(x).mul_(_signed(0x846CA68B, 32))
    return _shifted(x, 16, 32).bitwise_xor_(x)


def exponential(seeds: Any, steps: Any, vocabulary: int) -> Any:
    """Standard exponential numbers, floats above 0, one for each row and token.

    `seeds` and `steps` are whole numbers of 64 bits, one per row, on the device where the numbers are made.
    """
    import torch

    tokens = torch.arange(1, vocabulary + 1, device=seeds.device, dtype=torch.int32) * GOLDEN_32
    rows = mixed(mixed(seeds + GOLDEN) + steps * GOLDEN).to(torch.int32)
    bits = _shifted(mixed_32(rows[:, None] + tokens[None, :]), 1, 32)
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
