"""`espalier report`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from .. import _core

SUMMARY = "Write the page of a run, or of two runs side by side."
EXAMPLES = (
    "espalier report out/demo",
    "espalier report out/decex out/reasonrag --out out/both.html",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a finished run of `expand`")
    parser.add_argument(
        "other", metavar="RUN2", nargs="?", help="folder of a second one. Shared questions are compared"
    )
    parser.add_argument("--out", metavar="FILE", help="the page (RUN/report.html, of two runs RUN/compared.html)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.run).resolve()
    other = "" if arguments.other is None else str(Path(arguments.other).resolve())
    page = Path(arguments.out or folder / ("compared.html" if other else "report.html"))
    for run in (folder, *([Path(other)] if other else [])):
        _core.settle(run)
    if page.resolve() == folder / "report.html" and not other:
        _core.renew_report(str(folder))
    else:
        _core.write_report(str(folder), str(page), other)
    print(json.dumps({"report": str(page)}, ensure_ascii=False) if arguments.json else f"Report: {page}")
    return 0
