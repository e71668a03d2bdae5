"""The options of a run, which several commands share, and the settings that they come to."""

import argparse
from collections.abc import Container, Sequence
from functools import partial
from typing import Any

from ...runs.settings_table import PARTS, SETTINGS, addressed
from .config import given


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
    beside = ("command", "version", "config", "given", "json", "dry_run", "allow_failed")
    settings = {name: value for name, value in vars(arguments).items() if name not in beside and name not in without}
    settings["set"] = pairs("--set", arguments.set, "OPTION=VALUE")
    settings["set"] |= budget_options(settings.pop("price"), settings.pop("match_budget"))
    models = pairs("--model-for", arguments.models, "PURPOSE=MODEL[,NAME]")
    settings["models"] = {purpose: model.partition(",")[::2] for purpose, model in models.items()}
    return addressed(settings)


def add_allow_failed(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--allow-failed", help="end with 0 if questions failed, unless all did", action="store_true")


TYPES = {"int": int, "float": float}


def add_method_option(parser: argparse._ActionsContainer) -> None:
    what = f"{SETTINGS['method'].help}. `espalier options` lists its options (decex)"
    parser.add_argument("--method", help=what, default="decex", metavar="METHOD")


def add_setting(parser: argparse._ActionsContainer, name: str, help: str = "", **more: Any) -> None:
    """Adds the option of a run's setting. It says what the table of settings says, or `help`."""
    setting = SETTINGS[name]
    if setting.type == "bool":
        more |= {"action": "store_false" if setting.default else "store_true", "default": None}
    elif setting.choices:
        more["choices"] = list(setting.choices)
    else:
        more["metavar"] = setting.value
    if setting.type in TYPES:
        more["type"] = TYPES[setting.type]
    if setting.type in ("list", "models", "options"):
        more |= {"action": "append", "default": None if setting.type == "list" else []}
    default = f" ({setting.shown_default})" if setting.shown_default else ""
    keys = [f"?{key}={part.value or '|'.join(part.choices)}" for key, part in PARTS.get(name, {}).items()]
    parts = f". An address may say {', '.join(keys)}" if keys else ""
    parser.add_argument(f"--{setting.option}", dest=name, help=(help or setting.help + default) + parts, **more)


def add_run_options(parser: argparse.ArgumentParser, *, without: Container[str] = (), required: bool = True) -> None:
    """Adds the options of a run in groups, after the command's own required options, and a short usage."""
    groups = {setting.group: parser.add_argument_group(setting.group) for setting in SETTINGS.values()}

    def option(group: argparse._ActionsContainer, name: str, help: str, **more: Any) -> None:
        if name not in without:
            group.add_argument(name, help=help, **more)

    option(parser, "--config", "YAML or JSON file with options of this command. Those on the line win", metavar="FILE")
    for name, setting in SETTINGS.items():
        if not setting.option or "?" in setting.option or f"--{setting.option}" in without:
            continue
        if name == "method":
            add_method_option(groups[setting.group])
        else:
            add_setting(groups[setting.group], name, required=required and name in ("questions", "out"))
    search, execution = groups["search"], groups["execution"]
    option(search, "--price", "of the model, per million tokens, for budgets in money", metavar="in=USD,out=USD")
    option(
        search,
        "--match-budget",
        "answer again until max_calls, max_tokens_total, max_usd or l_max is spent. The majority decides",
        action="store_true",
    )
    option(execution, "--dry-run", "check options and inputs, estimate the cost, run nothing", action="store_true")
    if "--allow-failed" not in without:
        add_allow_failed(groups["output"])
    needed = [f"{one.option_strings[0]} {one.metavar}" for one in parser._actions if one.required]
    parser.usage = " ".join([parser.prog, *needed, "[options]"])
    parser.set_defaults(given=partial(given, parser))
