"""The examples run, and the page on concepts shows their code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PARTS

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(example: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-W", "error", example], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path):
    if example.stem == "main_job" and PARTS["json"] is not None:
        pytest.skip("built without simdjson")
    assert run(example)


def test_the_smallest_parts_grow_the_trees_of_the_native_ones():
    """151: the root and 3 children a simulation; 58: the root, 18 layers of 3 nodes, one of 2 and one of 1."""
    lines = run(ROOT / "examples/smallest_parts.py")
    assert lines == ["151 nodes by MCTS, 58 by layers", "hello", "Greetings"]


def test_a_method_of_ones_own_finds_right_answers_and_is_short():
    *paths, alone = run(ROOT / "examples/own_method.py")
    worth = [float(line.split()[0]) for line in paths]
    assert len(worth) == 10 and sum(value > 0 for value in worth) >= 5
    assert re.fullmatch(r"right: \d of 10 by the policy alone", alone)
    assert len((ROOT / "examples/own_method.py").read_text(encoding="utf-8").splitlines()) < 100


@pytest.mark.parametrize(("language", "suffix"), [("python", "py"), ("cpp", "cpp")])
def test_the_page_on_concepts_shows_the_examples_code(language: str, suffix: str):
    page = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
    code = (ROOT / f"examples/smallest_parts.{suffix}").read_text(encoding="utf-8")
    blocks = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        assert block in code
