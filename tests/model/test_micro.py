"""The micro model of the repository, a real language model that espalier train made, on worlds that it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import MICRO, ROOT, rows
from espalier.eval import score

OPTIONS: dict[str, Any] = {"documents": 2, "max_tokens": 96}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("world")
    esp.write_world(folder, passages=2000, questions=60, seed=7301, max_hops=3)
    data = {name: folder / f"{name}.jsonl" for name in ("questions", "corpus")}
    return {
        "method": "decex", **data, "model": f"gguf:{MICRO}?threads=1", "prompts": ROOT / "examples/compact_prompts",
        "constrain": "off",
    }  # fmt: skip


def test_it_is_small():
    assert MICRO.stat().st_size < 8e6


def test_it_answers_questions_of_an_unseen_world(asked: dict[str, Any], tmp_path: Path):
    run = esp.answer(**asked, set={**OPTIONS, "sampling.rollout.temperature": 0}, out=tmp_path / "out")
    golds = {one["id"]: one["golden_answers"] for one in rows(asked["questions"])}
    answers = rows(run.out / "answers.jsonl")
    right = sum(score("common", one["answer"] or "", golds[one["id"]])["em"] for one in answers)
    assert len(answers) == 60 and right / 60 > 0.5, f"EM {right / 60}"
    assert not run.summary["simulated"] and not run.summary["oracle"]


def test_its_own_steps_grow_trees_and_pairs(asked: dict[str, Any], tmp_path: Path):
    # Longer paths exceed its context.
    options = {**OPTIONS, "form": "policy", "k": 4, "n": 2, "rollout_rounds": 4, "temperature": 1}
    run = esp.expand(**asked, limit=12, set=options, out=tmp_path / "out")
    assert run.open == 0 and run.summary["oracle"] and not run.summary["simulated"]
    assert (run.out / "sft.jsonl").read_text() and (run.out / "dpo.jsonl").read_text()


def test_a_run_under_thinking_is_scored_again(asked: dict[str, Any], tmp_path: Path):
    run = esp.answer(**asked, limit=2, thinking="off", set={**OPTIONS, "max_calls": 3}, out=tmp_path / "out")
    assert run.open == 0
    again = esp.rescore(run.out, {}, out=tmp_path / "again")
    assert again.open == 0 and (again.out / "answers.jsonl").read_bytes() == (run.out / "answers.jsonl").read_bytes()
