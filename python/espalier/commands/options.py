"""`espalier options`."""

from __future__ import annotations

import argparse
import json

from .. import _core
from ..runs.summary import table

SUMMARY = "List a method's options."
EXAMPLES = ("espalier options --method prorag", "espalier options --method decex --json")


def add_options(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(_core.method_names())
    parser.add_argument("--method", default="decex", metavar="METHOD", help=f"one of: {names} (decex)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    rows = _core.method_options(arguments.method)
    if arguments.json:
        keys = ("option", "default", "allowed", "explanation", "type")
        print(
            json.dumps(
                [dict(zip(keys, row, strict=True)) | {"default": json.loads(row[1])} for row in rows],
                ensure_ascii=False,
            )
        )
        return 0
    own = [row for row in rows if not row[0].startswith("sampling.")]
    shown = [(name, short(default), *more[:2]) for name, default, *more in own]
    print("\n".join(table(("option", "default", "allowed", "explanation"), shown, left=4)))
    if alone := [row[0].split(".") for row in rows if row[0].startswith("sampling.")]:
        purposes, names = (", ".join(dict.fromkeys(parts)) for parts in list(zip(*alone, strict=True))[1:])
        print(f"sampling.PURPOSE.NAME is an option of one purpose alone. NAME: {names}. PURPOSE: {purposes}")
    return 0


def short(default: str, width: int = 24) -> str:
    """A default for a narrow column. `--json` has it whole."""
    return default if len(default) <= width else default[: width - 1] + "…"
