"""The options of a run, which several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Container
from functools import partial
from typing import Any

from ... import _core
from ...runs.settings_table import SETTINGS
from .config import given

TYPES = {"int": int, "float": float}


def add_method_option(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(_core.method_names())
    parser.add_argument("--method", help=f"decex (default), or one of: {names}", default="decex", metavar="METHOD")


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
    parser.add_argument(f"--{setting.option}", dest=name, help=help or setting.help + default, **more)


def add_run_options(parser: argparse.ArgumentParser, *, without: Container[str] = (), required: bool = True) -> None:
    def option(name: str, help: str, **more: Any) -> None:
        if name not in without:
            parser.add_argument(name, help=help, **more)

    option("--config", "YAML or JSON file with options of this command. Those on the line win", metavar="FILE")
    groups = {setting.group: parser.add_argument_group(setting.group) for setting in SETTINGS.values()}
    for name, setting in SETTINGS.items():
        if setting.option and name != "method" and f"--{setting.option}" not in without:
            add_setting(groups[setting.group], name, required=required and name in ("questions", "out"))
    option("--price", "of the model, per million tokens, for budgets in money", metavar="in=USD,out=USD")
    option(
        "--match-budget",
        "answer again until max_calls, max_tokens_total or max_usd of --set is spent. The majority decides",
        action="store_true",
    )
    option("--json", "print JSON", action="store_true")
    option("--dry-run", "check options and inputs, say what would be asked and estimate its cost", action="store_true")
    option("--like", "estimate a dry run by this finished run, not by a simulated one", metavar="RUN")
    parser.set_defaults(given=partial(given, parser))
