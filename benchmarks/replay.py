"""A finished run done again: recognised, and rebuilt from its journal after its outputs were deleted.

Usage: replay.py [QUESTIONS]. The main job (DecEx-RAG, BM25, simulated model) over a generated world. The run it is
compared with is the shortest one possible against a server of 64 slots and a mean latency of 50 ms: paid calls times
50 ms through 64. CPU time is of the whole process, the interpreter's start included; wall times suffer from whatever
else the machine does.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SLOTS, LATENCY = 64, 0.05


def measured(*arguments):
    """(wall seconds, CPU seconds) of the command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "espalier.cli", *map(str, arguments)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu


def main(questions):
    with tempfile.TemporaryDirectory() as folder:
        world, out = Path(folder) / "world", Path(folder) / "run"
        measured("world", "--out", world, "--questions", questions, "--passages", 4 * questions)
        command = ["expand", "--questions", world / "questions.jsonl", "--corpus", world / "corpus.jsonl", "--out", out]
        first = measured(*command)
        paid = json.loads((out / "accounts.json").read_text())["model"]["paid_applied"]
        size = (out / "journal.sqlite").stat().st_size / 1e6
        print(f"{questions} questions, {paid} paid calls, journal {size:.0f} MB")
        bound = paid * LATENCY / SLOTS
        print(f"{'':34}{'wall s':>8}{'CPU s':>8}")
        print(f"{'first run, simulated model':34}{first[0]:8.2f}{first[1]:8.2f}")
        print("{:34}{:8.2f}{:8.2f}".format("run again, recognised", *measured(*command)))
        before = {path: path.read_bytes() for path in out.glob("*.jsonl") if path.name != "costs.jsonl"}
        for path in [*before, out / "summary.json"]:
            path.unlink()
        again = measured(*command)
        assert json.loads((out / "accounts.json").read_text())["model"]["paid_applied"] == 0
        assert all(path.read_bytes() == content for path, content in before.items())
        print(f"{'rebuilt from the journal':34}{again[0]:8.2f}{again[1]:8.2f}")
        print(f"{'shortest run, 64 slots of 50 ms':34}{bound:8.2f}")
        print(f"rebuilding takes 1/{bound / again[1]:.1f} of that in CPU time, 1/{bound / again[0]:.1f} in wall time")


main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
