"""What `espalier eval` and `espalier compare` take on the command line."""

from __future__ import annotations

import argparse


def add_eval_options(parser: argparse.ArgumentParser) -> None:
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


def add_compare_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="folder of a run")
    parser.add_argument("b", metavar="B", help="folder of another run over the same questions")
    parser.add_argument(
        "--questions", metavar="FILE", help="the questions, if they are no longer where the runs found them"
    )
    parser.add_argument("--rows", type=int, default=20, metavar="N", help="rows to show, 0 = all (20)")
    parser.add_argument("--json", action="store_true", help="print JSON, with all rows")
