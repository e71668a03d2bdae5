"""`espalier options`."""

from __future__ import annotations

import argparse
import json

from .. import _core
from ..runs.summary import table
from .shared.run_options import add_method_option

SUMMARY = "List a method's options."
EXAMPLES = ("espalier options --method prorag", "espalier options --method decex --json")


def add_options(parser: argparse.ArgumentParser) -> None:
    add_method_option(parser)
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
    print("\n".join(table(("option", "default", "allowed", "explanation"), [row[:4] for row in rows], left=4)))
    return 0
