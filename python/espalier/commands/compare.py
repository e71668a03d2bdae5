"""`espalier compare`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

SUMMARY = "Show two runs over the same questions, question by question."
EXAMPLES = (
    "espalier compare out/eval/runs/decex out/eval/runs/direct",
    "espalier compare out/a out/b --rows 0 --json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="folder of a run")
    parser.add_argument("b", metavar="B", help="folder of another run over the same questions")
    parser.add_argument(
        "--questions", metavar="FILE", help="the questions, if they are no longer where the runs found them"
    )
    parser.add_argument("--rows", type=int, default=20, metavar="N", help="rows to show, 0 = all (20)")
    parser.add_argument("--json", action="store_true", help="print JSON, with all rows")


def run(arguments: argparse.Namespace) -> int:
    from ..eval.formats import to_markdown
    from ..eval.side_by_side import compare_runs, comparison_tables  # numpy is not for every command

    if arguments.rows < 0:
        raise ValueError(f"--rows is {arguments.rows}, allowed: 0 or more")
    result = compare_runs(Path(arguments.a), Path(arguments.b), arguments.questions)
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        print(to_markdown(comparison_tables(result, arguments.rows), []))
    return 0
