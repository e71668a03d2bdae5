"""Process rewards from a server: what grpo learns from them, and what rft keeps by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import espalier
import pytest
import torch
from espalier.errors import InputError
from espalier.train import grpo, rft
from training import same, scoring, weights_of


@pytest.fixture(scope="module")
def prm() -> Iterator[str]:
    """A reward model that likes long texts."""
    with scoring(lambda text: len(text) % 16 / 8 - 1) as url:
        yield f"{url},prm"


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory, prm: str) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("world")
    (folder / "prompts").mkdir()
    for purpose in ("rollout", "forced_answer", "step"):
        (folder / "prompts" / f"{purpose}.txt").write_text("Q: {question}\n{history}>")
    espalier.write_world(folder, passages=60, questions=4, seed=5, max_hops=1)
    return {
        "questions": str(folder / "questions.jsonl"), "corpus": str(folder / "corpus.jsonl"), "lr": 1e-3, "prm": prm,
        "prompts": str(folder / "prompts"), "method": "prorag", "device": "cpu", "threads": 1, "warmup": 0,
        "set": {"max_tokens": 12, "documents": 1},
    }  # fmt: skip


@pytest.mark.parametrize("beta", [0.3, 0.0])
def test_steps_are_learned_from_by_their_rewards(common: dict[str, Any], tiny: Path, tmp_path: Path, beta: float):
    """An untrained model is never right: all outcomes are equal, and only process rewards move the weights."""
    own = {"steps": 1, "group": 4, "group_questions": 2, "kl": 0.0, "advantage": "process", "beta": beta}
    grpo(model=str(tiny), out=tmp_path / "out", **common, **own)
    begun, now = weights_of(tiny), weights_of(tmp_path / "out")
    assert any(not torch.equal(one, begun[name]) for name, one in now.items()) == (beta > 0)


def test_rewards_over_tokens_move_the_weights_elsewhere(common: dict[str, Any], tiny: Path, tmp_path: Path):
    own = {"steps": 1, "group": 4, "group_questions": 2, "kl": 0.0, "advantage": "process"}
    for normalise in ("step", "token"):
        grpo(model=str(tiny), out=tmp_path / normalise, normalise=normalise, **common, **own)
    assert not same(tmp_path / "step", tmp_path / "token")


def test_steps_of_wrong_trajectories_are_dropped_and_counted(common: dict[str, Any], tiny: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"no trajectory was kept: .*; 8 dropped: the step is on no right path"):
        rft(model=str(tiny), out=tmp_path / "out", samples=2, filter="prm", **common)
