"""What a question may cost, for all methods alike."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

WHOLE = {"calls": "max_calls", "tokens": "max_tokens_total", "input_tokens": "l_max"}
OPTIONS = WHOLE | {"seconds": "max_seconds", "usd": "max_usd"}
FORM = "calls=N, tokens=N, input_tokens=N, seconds=S or usd=X, joined by commas"


def parse_budget(text: str | None) -> dict[str, float]:
    """`calls=200,usd=0.5` as limits per question. Raises ValueError."""
    limits: dict[str, float] = {}
    for part in text.split(",") if text is not None else ():
        unit, equals, number = (piece.strip() for piece in part.partition("="))
        if unit not in OPTIONS or not equals:
            raise ValueError(f"--budget takes {FORM}, not '{part}'")
        if unit in limits:
            raise ValueError(f"--budget has {unit} twice")
        try:
            limits[unit] = float(number)
        except ValueError:
            limits[unit] = math.nan
        whole = unit in WHOLE
        if not 0 < limits[unit] < math.inf or (whole and limits[unit] != int(limits[unit])):
            raise ValueError(f"--budget: {unit} is {number}, allowed: {'1 or more' if whole else 'above 0'}")
    return limits


def budget_options(limits: Mapping[str, float], chosen: Mapping[str, str]) -> dict[str, str]:
    """The search options that hold every method to the limits.

    Raises ValueError where `chosen`, by option or METHOD.option, makes the budgets unequal, or gives money no price.
    """
    options = {OPTIONS[unit]: f"{limit:.17g}" for unit, limit in limits.items()}
    for name in chosen:
        if any(name == option or name.endswith("." + option) for option in options):
            raise ValueError(f"--budget is the same for every method, --set {name} would make it unequal: give one")
    if "usd" in limits and not {"price_in", "price_out"} & chosen.keys():
        raise ValueError("--budget usd=... needs --price in=USD,out=USD")
    return options


def budget_report(limits: Mapping[str, float], rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | int]]:
    """By unit: the limit, what questions spent on average and at most, and how many went over it.

    A search looks at its budget between steps, so what was under way when it ran out is an overshoot.
    """
    report: dict[str, dict[str, float | int]] = {}
    for unit, limit in limits.items():
        column = "prompt_tokens" if unit == "input_tokens" else unit
        spent = [row[column] for row in rows if row[column] is not None]
        report[unit] = {
            "limit": limit,
            "mean": math.fsum(spent) / len(spent) if spent else 0,
            "most": max(spent, default=0),
            "over": sum(amount > limit for amount in spent),
        }
    return report
