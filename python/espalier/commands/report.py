"""`espalier report`."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..io.files import file_of
from ..io.terminal import say, say_error, say_json
from ..report import renew_report, write_report

SUMMARY = "Write the page of a run, or show two runs over the same questions side by side."
EXAMPLES = (
    "espalier report out/demo",
    "espalier report out/decex out/reasonrag --out out/both.html",
    "espalier report out/eval/runs/decex out/eval/runs/direct --rows 0 --json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a finished run")
    parser.add_argument("other", metavar="RUN2", nargs="?", help="folder of a second. Shared questions are compared")
    parser.add_argument("--out", metavar="FILE", help="the page (RUN/report.html, of two runs RUN/compared.html)")
    parser.add_argument("--questions", metavar="FILE", help="those of two runs, if they are no longer where they were")
    parser.add_argument("--rows", type=int, default=20, metavar="N", help="rows of two runs to print, 0 = all (20)")


def run(arguments: argparse.Namespace) -> int:
    if arguments.rows < 0:
        raise ValueError(f"--rows is {arguments.rows}, allowed: 0 or more")
    folders = [Path(os.path.realpath(folder)) for folder in (arguments.run, arguments.other) if folder is not None]
    page = None
    if len(folders) == 1 or all((folder / "trees.jsonl").exists() for folder in folders):
        page = write_page(folders, arguments.out)
    found = compared(folders, page, arguments) if len(folders) == 2 else {}
    if arguments.json:
        say_json({"report": str(page) if page else None, **found})
    elif page:
        say(f"Report: {page}")
    return 0


def write_page(folders: Sequence[Path], out: str | None) -> Path:
    other = folders[1] if len(folders) == 2 else None
    page = Path(out or folders[0] / ("compared.html" if other else "report.html"))
    for folder in folders:
        file_of(folder, "summary.json")
    if Path(os.path.realpath(page)) == folders[0] / "report.html" and not other:
        renew_report(folders[0])
    else:
        write_report(folders[0], page, other)
    return page


def compared(folders: Sequence[Path], page: Path | None, arguments: argparse.Namespace) -> dict[str, Any]:
    """Two runs, question by question. Runs over different questions have a page alone."""
    from ..eval.formats import to_markdown
    from ..eval.side_by_side import compare_runs, comparison_tables  # numpy is not for every command

    try:
        result = compare_runs(folders[0], folders[1], arguments.questions)
    except InputError as error:
        if page is None:
            raise
        say_error(f"no table: {error}")
        return {}
    if not arguments.json:
        say(*to_markdown(comparison_tables(result, arguments.rows), []).split("\n"))
    return result
