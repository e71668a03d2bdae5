"""A claim about training, from its teacher's trees to a model that answers."""

import json
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from claims import training
from claims.claims import CLAIMS
from claims.frame import Frame, NotRun, record
from espalier.errors import InputError


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four questions teach, and a stage has one step."""
    for stage in training.OPTIONS:
        monkeypatch.setitem(training.TAUGHT, stage, 4)
        steps = "steps" if stage == "grpo" else "max_steps"
        monkeypatch.setitem(training.OPTIONS, stage, {**training.OPTIONS[stage], steps: 1})


def test_stages_follow_each_other_and_are_recognised(tmp_path, tiny, small):
    both = CLAIMS["decex_stages"].arms["sft_dpo"]
    frame = Frame(tmp_path / "out", base=str(tiny))
    last = both.trained(frame, 1)
    made = sorted(path.stat().st_mtime_ns for path in (frame.out / "models").glob("*/model.safetensors"))
    assert len(made) == 2 and (Path(last) / "training.json").exists()
    assert both.trained(frame, 1) == last
    assert made == sorted(path.stat().st_mtime_ns for path in (frame.out / "models").glob("*/model.safetensors"))


def test_a_model_that_cannot_be_read_is_no_verdict(tmp_path, tiny, small):
    row = record("decex_stages", CLAIMS["decex_stages"], Frame(tmp_path / "out", base=str(tiny), seeds=1, questions=2))
    assert (row["verdict"], row["model"]) == ("not run", "trained from tiny")
    assert row["reason"] == "the model's replies to these prompts cannot be read"
    with pytest.raises(NotRun):
        CLAIMS["decex_stages"].arms["base"].rows(Frame(tmp_path / "out", base=str(tiny)), 1, 2)


def test_a_reward_model_is_trained_and_served_for_groups(tmp_path, tiny, small, monkeypatch):
    """The base's format is learned in one step here, so no step of its samples can be read, and all learn the same."""
    arm = CLAIMS["prorag_outcome"].arms["process"]
    base = replace(arm.stages[0], options={"max_steps": 1})
    reward = training.Trained((base, arm.stages[-1].reward.stages[-1]))
    groups = replace(arm.stages[-1], reward=reward, options={**arm.stages[-1].options, "group": 2})
    folder = Path(training.Trained((base, groups)).trained(Frame(tmp_path / "out", base=str(tiny)), 1))
    made = json.loads((folder / "training.json").read_text())
    assert made["options"]["prm"] == "prm" and made["options"]["advantage"] == "process"


@pytest.mark.parametrize(("claim", "arm"), [("decouple_learned", "values"), ("prorag_learned", "best_of_8")])
def test_a_trained_model_guides_the_simulated_policy(tmp_path, tiny, small, claim, arm):
    """No question would end if the trained model, which is served, gave no numbers."""
    rows = CLAIMS[claim].arms[arm].rows(Frame(tmp_path / "out", base=str(tiny)), 1, 2)
    assert len(rows) == 2 and all(row["calls"] > 2 for row in rows)


def test_process_and_outcome_learn_from_the_same_questions(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("espalier.train.grpo", lambda **given: asked.append(given["questions"]) or Namespace(out="x"))
    monkeypatch.setattr("espalier.train.dpo", lambda **given: Namespace(out="x"))
    monkeypatch.setattr(training.Search, "run", lambda self, out, world, *more: asked.append(str(world["questions"])))
    for arm in ("process", "outcome"):
        stage = CLAIMS["decex_outcome"].arms[arm].stages[-1]
        stage.run(Frame(tmp_path / "out"), 1, "base", tmp_path / "model")
    assert len(asked) == 2 and asked[0] == asked[1]


def test_pairs_of_the_model_itself_come_from_its_own_trees(tmp_path, tiny, small, monkeypatch):
    """The stage asks the model that it trains, by the search in the policy's own form."""
    asked = []

    def run(self, out, world, model, seed, options):
        asked.append((model, options))

    monkeypatch.setattr(training.Search, "run", run)
    with pytest.raises(InputError, match=r"dpo\.jsonl"):
        CLAIMS["decex_stages"].arms["base_own_dpo"].trained(Frame(tmp_path / "out", base=str(tiny)), 1)
    [(model, options)] = asked
    assert model.startswith(f"hf:{tiny}") and options["form"] == "policy"
