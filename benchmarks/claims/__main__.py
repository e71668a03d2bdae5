"""Runs the claims that fit on this machine, says of each whether it holds, and writes results.json and table.md.

    PYTHONPATH=benchmarks python -m claims --out build/claims [--only decex_cost,airrag_rollouts]
        [--model MODEL] [--base MODEL] [--seeds N] [--questions N] [--minutes 85]

The same command goes on where it was stopped. A row stays in results.json until its claim is run again by the same
model.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from .claims import CLAIMS
from .frame import MICRO, Frame, record
from .table import markdown, overview


def main() -> int:
    parser = argparse.ArgumentParser(prog="claims", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/claims"), help="folder of cells and results")
    parser.add_argument("--only", default=",".join(CLAIMS), help="names of claims, joined by commas")
    kinds = "a folder of transformers or gguf:FILE"
    parser.add_argument("--model", help=f"what searches and begins trainings, in place of the simulated: {kinds}")
    parser.add_argument("--base", help=f"what trainings begin with: {kinds} (gguf:examples/micro/model.gguf)")
    parser.add_argument("--seeds", type=int, default=0, help="at most so many seeds, 0 = as many as a claim wants")
    parser.add_argument("--questions", type=int, default=0, help="questions of a seed, 0 = as many as a claim wants")
    parser.add_argument("--minutes", type=float, default=85, help="no cell begins later than this, 85")
    given = parser.parse_args()
    names = given.only.split(",")
    if unknown := set(names) - set(CLAIMS):
        parser.error(f"--only: {', '.join(sorted(unknown))} is no claim; there are {', '.join(CLAIMS)}")
    base = given.base or given.model or MICRO
    until = time.monotonic() + 60 * given.minutes
    frame = Frame(given.out, given.model or "simulated", base, given.seeds, given.questions, until)
    file = given.out / "results.json"
    rows = {(row["name"], row["model"]): row for row in json.loads(file.read_text())} if file.exists() else {}
    decisive = ("model", "base", "seeds", "questions")
    more = "".join(f" --{one} {getattr(given, one)}" for one in decisive if getattr(given, one))
    for name in names:
        begin = time.monotonic()
        row = record(name, CLAIMS[name], frame) | {"command": f"python -m claims --only {name}{more}"}
        if row["verdict"] != "not run" or (name, row["model"]) not in rows:  # a measured row stays
            rows[name, row["model"]] = row
        print(f"{name}: {row['verdict']} ({time.monotonic() - begin:.0f} s)", file=sys.stderr, flush=True)
        order = list(CLAIMS)
        ordered = sorted(rows.values(), key=lambda row: (order.index(row["name"]), row["model"]))
        given.out.mkdir(parents=True, exist_ok=True)
        for path, text in ((file, json.dumps(ordered, indent=1) + "\n"), (given.out / "table.md", markdown(ordered))):
            part = path.with_suffix(".part")
            part.write_text(text, encoding="utf-8")
            part.replace(path)
    print("\n".join(overview(ordered)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
