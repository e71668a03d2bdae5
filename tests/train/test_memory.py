"""The peak of memory that is said beforehand, against the one that is measured."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import re, sys
from pathlib import Path
from espalier.runs.progress import ProgressView
from espalier.train import sft
class View(ProgressView):
    def say(self, line): print(line)
sft(data=sys.argv[1], model=sys.argv[2], out=sys.argv[3], device="cpu", threads=1, max_steps=3, save_every=0,
    batch_tokens=int(sys.argv[4]), context_weight=0.2, max_length=1024, progress=View())
# Not ru_maxrss, which a child takes over from the process that started it.
print("measured", 1024 * int(re.search(r"VmHWM:\\s+([0-9]+)", Path("/proc/self/status").read_text())[1]))
"""


@pytest.mark.parametrize(("model", "tokens"), [("micro:1M", 16384), ("micro:3M", 8192)])
def test_the_peak_is_foretold_within_a_tenth(run: Path, tmp_path: Path, model: str, tokens: int):
    words = [sys.executable, "-c", PROGRAM, str(run), model, str(tmp_path / "out"), str(tokens)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = float(re.search(r"peak memory about ([\d.]+) GiB", done.stdout)[1])
    measured = int(re.search(r"measured (\d+)", done.stdout)[1]) / 2**30
    assert abs(said - measured) <= 0.1 * measured, (said, measured)
