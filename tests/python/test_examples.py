"""The examples print and write what their twins in C++ do, and the page on concepts shows their code."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PARTS

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "improve")
"""With a twin in C++. Training has none: tests/train/test_improve.py."""
EXPECTED = ROOT / "examples/expected"

# Why the two of a pair differ.
DIFFERENT = {
    "own_method": "in C++ a method asks in tags, which the simulated model answers, and Job runs it; in Python it is a "
    "search problem with prompts of plain text, for which names are drawn at random"
}


def test_every_example_has_a_twin():
    twins = {path.stem for path in (ROOT / "examples").glob("*.cpp")}
    assert twins == {path.stem for path in EXAMPLES}
    assert set(DIFFERENT) == {name for name in twins if (EXPECTED / f"{name}.cpp.txt").exists()}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_and_writes_what_its_twin_does(example: Path, tmp_path: Path):
    """The twin is compared with the same files by examples/compare.cmake."""
    if example.stem == "main_job" and PARTS["json"] is not None:
        pytest.skip("built without simdjson")
    command = [sys.executable, "-W", "error", example]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    text = f"{example.stem}.py.txt" if example.stem in DIFFERENT else f"{example.stem}.txt"
    assert done.stdout == (EXPECTED / text).read_text(encoding="utf-8")
    sums = EXPECTED / f"{example.stem}.sha256"
    for line in sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []:
        expected, file = line.split("  ")
        assert hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() == expected, file


def test_methods_of_ones_own_find_right_answers_and_are_short():
    for language in ("py", "cpp"):
        lines = (EXPECTED / f"own_method.{language}.txt").read_text(encoding="utf-8").splitlines()
        worth = [float(line.split()[0]) for line in lines if " -> " in line]
        assert len(worth) == 10 and sum(value > 0 for value in worth) >= 5
        assert len((ROOT / f"examples/own_method.{language}").read_text(encoding="utf-8").splitlines()) < 100


@pytest.mark.parametrize(("language", "suffix"), [("python", "py"), ("cpp", "cpp")])
def test_the_page_on_concepts_shows_the_examples_code(language: str, suffix: str):
    page = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
    code = (ROOT / f"examples/smallest_parts.{suffix}").read_text(encoding="utf-8")
    blocks = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        assert block in code
