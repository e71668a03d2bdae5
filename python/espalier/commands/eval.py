"""`espalier eval`."""

from __future__ import annotations

import argparse

from .run_options import add_run_options
from .settings import settings_of
from .track import add_track_option

SUMMARY = "Answer questions by several methods and compare scores and costs."
EXAMPLES = (
    "espalier eval --methods decex,airrag,direct --questions questions.jsonl --corpus corpus.jsonl --out out/eval",
    "espalier eval --methods all --budget calls=50 --sweep decex.k=1,3,5 --questions questions.jsonl \\\n"
    "    --corpus corpus.jsonl --out out/curves --dry-run",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--methods", required=True, metavar="A,B,C", help="methods by name, or all")
    parser.add_argument(
        "--budget", metavar="calls=N|tokens=N|usd=X", help="what a question may cost, the same for every method"
    )
    parser.add_argument(
        "--baseline", metavar="METHOD", help="what the others are tested against (the one with the best F1)"
    )
    parser.add_argument(
        "--sweep",
        action="append",
        default=[],
        metavar="METHOD.OPTION=V1,V2",
        help="runs under several values of an option, for a scaling curve; may be repeated",
    )
    add_run_options(parser, without=["--like"])
    add_track_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..eval import command  # numpy is not for every command

    return command.eval_command(
        settings_of(arguments, without=["track"]),
        arguments.given(arguments),
        arguments.track,
        as_json=arguments.json,
        dry_run=arguments.dry_run,
    )
