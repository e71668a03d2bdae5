"""Runs against a server that fails: do the bytes stay the same, and what do the faults cost?

    python benchmarks/faults.py [--questions 20] [--rate 0.1] [--together 0.3]

Every transient kind alone, then all of them together in every server's dialect. Exits 1 if a byte differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import espalier as esp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "servers"))

from dialects import DIALECTS
from fault_server import FaultServer
from faults import TRANSIENT
from runs import contents, expand, knowledge


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--rate", type=float, default=0.1, help="share of the attempts that meet a fault of one kind")
    parser.add_argument("--together", type=float, default=0.3, help="share of those that meet one of all kinds")
    options = parser.parse_args()
    cases = [("no fault", "vllm", [], 0.0)]
    cases += [(fault, "vllm", [fault], options.rate) for fault in TRANSIENT]
    cases += [(f"all together, {dialect}", dialect, list(TRANSIENT), options.together) for dialect in DIALECTS]
    different = 0
    print(f"{'fault':26} {'attempts':>8} {'met':>5} {'seconds':>8}  bytes")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        esp.write_world(folder, passages=10 * options.questions, questions=options.questions, seed=5)
        known, whole = knowledge(folder), {}
        for number, (title, dialect, faults, rate) in enumerate(cases):
            begin = time.monotonic()
            with FaultServer(dialect, faults, rate, **known) as server:
                left_open = expand(folder, server, folder / str(number)).open
            seconds, made = time.monotonic() - begin, contents(folder / str(number))
            whole = whole or made
            equal = made == whole and not left_open
            different += not equal
            met = server.met.total() - server.met[""]
            print(f"{title:26} {server.met.total():8} {met:5} {seconds:8.1f}  {'equal' if equal else 'DIFFERENT'}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
