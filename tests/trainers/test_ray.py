"""The recipe for Ray in docs/recipes.md, as it stands, by an installed Ray with two workers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import espalier
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"

HERE_ALONE = """
ray.init(num_cpus=2, include_dashboard=False)
assert ray.cluster_resources()["CPU"] == 2
"""
ONE_RUN = """
esp.write_jsonl("whole.jsonl", esp.run(esp.DecExRag(k=3, n=4), questions, model=model, retriever=retriever))
"""


def test_parts_that_ray_grows_are_the_bytes_of_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    shown = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    [recipe] = [block for block in shown if "import ray\n" in block]
    espalier.write_world(tmp_path / "world", passages=300, questions=10, seed=1)
    program = shown[0] + recipe.replace("import ray\n", "import ray\n" + HERE_ALONE) + ONE_RUN
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=300, check=True)
    assert len(list((tmp_path / "world").glob("grown-*.sqlite"))) == 3
    assert (tmp_path / "trees.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
