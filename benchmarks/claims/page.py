"""Writes the figures of results.json, beside this file, into docs/lab/claims.md, below its mark.

cp build/claims/results.json benchmarks/claims/ && PYTHONPATH=benchmarks python -m claims.page
"""

from __future__ import annotations

import json
from pathlib import Path

from .frame import ROOT
from .table import markdown

MARK = "<!-- below: benchmarks/claims/page.py -->\n"


def main() -> None:
    page = ROOT / "docs/lab/claims.md"
    recorded = json.loads((Path(__file__).parent / "results.json").read_text(encoding="utf-8"))
    text, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    page.write_text(f"{text}{mark}\n{markdown(recorded)}", encoding="utf-8")


if __name__ == "__main__":
    main()
