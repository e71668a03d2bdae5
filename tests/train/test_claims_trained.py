"""A claim about training, from its teacher's trees to a model that answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from claims import training
from claims.claims import CLAIMS
from claims.frame import Frame, NotRun, record


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four questions teach, and a stage has one step."""
    for stage in ("sft", "dpo"):
        monkeypatch.setitem(training.TAUGHT, stage, 4)
        monkeypatch.setitem(training.OPTIONS, stage, {**training.OPTIONS[stage], "max_steps": 1})


def test_stages_follow_each_other_and_are_recognised(tmp_path, tiny, small):
    both = CLAIMS["decex_stages"].arms["sft_dpo"]
    frame = Frame(tmp_path / "out", base=tiny)
    last = both.folder(frame, 1)
    made = sorted(path.stat().st_mtime_ns for path in (frame.out / "models").glob("*/model.safetensors"))
    assert len(made) == 2 and (last / "training.json").exists()
    assert both.folder(frame, 1) == last
    assert made == sorted(path.stat().st_mtime_ns for path in (frame.out / "models").glob("*/model.safetensors"))


def test_a_model_that_cannot_be_read_is_no_verdict(tmp_path, tiny, small):
    row = record("decex_stages", CLAIMS["decex_stages"], Frame(tmp_path / "out", base=tiny, seeds=1, questions=2))
    assert (row["verdict"], row["model"]) == ("not run", "trained from tiny")
    assert row["reason"] == "the model's replies to these prompts cannot be read"
    with pytest.raises(NotRun):
        CLAIMS["decex_stages"].arms["base"].rows(Frame(tmp_path / "out", base=tiny), 1, 2)
