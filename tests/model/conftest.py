"""A small real model, which `make test-model` brings, and a dozen questions with passages."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "real"
MICRO = ROOT / "examples/micro/model.gguf"
"""The model of the repository, a real language model that espalier train made."""


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def weights() -> Path:
    file = os.environ.get("ESPALIER_MODEL", "")
    assert file, "ESPALIER_MODEL names no file of a model: `make test-model` brings one"
    return Path(file).resolve()


@pytest.fixture
def model(weights: Path, tmp_path: Path) -> Path:
    """The same file under a path of the test's own, which it may take away."""
    link = tmp_path / weights.name
    link.symlink_to(weights)
    return link


@pytest.fixture(scope="session")
def corpus() -> Path:
    return EXAMPLES / "corpus.jsonl"


@pytest.fixture(scope="session")
def two_questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A question of one hop and one of two."""
    path = tmp_path_factory.mktemp("questions") / "questions.jsonl"
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) == 12 and all(json.loads(line)["golden_answers"] for line in lines)
    path.write_text("".join(lines[:2]), encoding="utf-8")
    return path
