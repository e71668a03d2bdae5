"""From the options of a line to the settings of a run."""

from __future__ import annotations

import argparse
from collections.abc import Container, Sequence
from typing import Any

from ...runs.addresses import addressed


def pairs(option: str, texts: Sequence[str], value: str) -> dict[str, str]:
    """`name=value` texts as a mapping."""
    parts = [text.partition("=") for text in texts]
    for name, equals, _ in parts:
        if not equals:
            raise ValueError(f"{option} takes {value}, not '{name}'")
    return {name.strip(): text.strip() for name, _, text in parts}


def budget_options(price: str | None, match_budget: bool) -> dict[str, str]:
    """What --price and --match-budget set."""
    chosen = {"match_budget": "true"} if match_budget else {}
    if price is not None:
        prices = pairs("--price", price.split(","), "in=USD,out=USD")
        if not prices.keys() <= {"in", "out"}:
            raise ValueError(f"--price takes in=USD,out=USD, not '{price}'")
        chosen |= {f"price_{side}": usd for side, usd in prices.items()}
    return chosen


def settings_of(arguments: argparse.Namespace, without: Container[str] = ()) -> dict[str, Any]:
    """The settings of the run that a line describes. `without` names the command's other options."""
    beside = ("command", "version", "config", "given", "json", "dry_run")
    settings = {name: value for name, value in vars(arguments).items() if name not in beside and name not in without}
    settings["set"] = pairs("--set", arguments.set, "OPTION=VALUE")
    settings["set"] |= budget_options(settings.pop("price"), settings.pop("match_budget"))
    models = pairs("--model-for", arguments.models, "PURPOSE=MODEL[,NAME]")
    settings["models"] = {purpose: model.partition(",")[::2] for purpose, model in models.items()}
    return addressed(settings)
