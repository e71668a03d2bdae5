"""Rejection sampling: what is kept, and what is recognised; and process rewards from a server."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import espalier
import pytest
import torch
from espalier.errors import Error, InputError
from espalier.io.rows import read_rows
from espalier.runs.job import RunResult
from espalier.train import grpo, rft
from espalier.train.rft import by_process_reward, by_rule
from espalier.train.rollouts import by_step
from espalier.train.sampling import write_copies
from espalier.train.trajectories import chains, steps
from training import same, scoring, weights_of

SEARCH = "<think> I look </think>\n<search> Sudus </search>"
RIGHT = "<think> done </think>\n<answer> gold </answer>"
WRONG = "<think> done </think>\n<answer> lead </answer>"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    folder = tmp_path / "world"
    (folder / "prompts").mkdir(parents=True)
    for purpose in ("rollout", "forced_answer"):
        (folder / "prompts" / f"{purpose}.txt").write_text("Q: {question}\n{history}>")
    (folder / "corpus.jsonl").write_text(json.dumps({"id": "d", "title": "Sudus", "contents": "Sudus is <old>."}))
    row = {"id": "q", "question": "What?", "golden_answers": ["gold"]}
    (folder / "questions.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def run_of(world: Path, replies: dict[int, list[str]], **more: Any) -> tuple[Path, set[tuple[str, str]]]:
    """A run whose copy number i of the question is told `replies[i]`, and all (prompt, reply) that were asked."""
    rows = [row.fields for row in read_rows(world / "questions.jsonl")]
    names: dict[int, int] = {}
    seen: set[tuple[str, str]] = set()

    def model(prompts: Any) -> list[str]:
        said = []
        for prompt in prompts:
            depth = prompt.slots["history"].count("<search>")
            own = names.setdefault(len(names), len(names)) if depth == 0 else len(names) - 1
            said.append(replies[own][depth])
            seen.add((prompt.text, said[-1]))
        return said

    write_copies(world / "copies.jsonl", rows, len(replies))
    espalier.answer(
        questions=world / "copies.jsonl", corpus=world / "corpus.jsonl", prompts=world / "prompts",
        out=world / "run", model=model, model_name="told", method="decex", constrain="off", journal=False,
        in_flight=1, open_questions=1, set={"resample": 0, "documents": 1, **more},
    )  # fmt: skip
    return world / "run", seen


def test_a_rule_keeps_right_chains_once_and_counts_the_others(world: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["espalier.train.rft"], "MOST_RETRIEVALS", 1)
    replies = {0: [RIGHT], 1: [WRONG], 2: ["no form"], 3: [RIGHT], 4: [SEARCH, RIGHT], 5: [SEARCH, SEARCH, RIGHT]}
    run, _ = run_of(world, replies)
    kept = by_rule(run, {"q": ["gold"]})
    assert kept.dropped == {
        "the answer is wrong": 1, "a step cannot be read": 1, "it equals another one": 1, "more than 1 retrievals": 1,
    }  # fmt: skip
    assert (kept.trajectories, kept.solved, len(kept.rows)) == (6, {"q"}, 3)
    assert [row["completion"] for row in kept.rows] == [RIGHT, SEARCH, RIGHT]
    assert kept.rows[0]["prompt"] == kept.rows[1]["prompt"] == "Q: What?\n(nothing yet)\n>"
    assert SEARCH in kept.rows[2]["prompt"] and "&lt;old>" in kept.rows[2]["prompt"]


def test_steps_stand_under_the_prompts_that_were_asked(world: Path):
    """Also what cannot be read, as it was written. What is forced is nobody's step."""
    run, seen = run_of(world, {0: [SEARCH, "no form"], 1: [SEARCH, SEARCH, RIGHT]}, T_max=2)
    [trace] = chains(run, {"q": ["gold"]}, "em")
    found = {(step.prompt, step.text) for step in steps(trace)}
    assert found and found < seen
    assert any(text == "no form" for _, text in found)
    assert not any(text == RIGHT for _, text in found)  # after two searches the answer is forced
    assert sorted(trace.outcomes.values()) == [0, 1]


def test_a_chain_without_form_keeps_its_place_in_its_group(world: Path):
    """Outcomes 1, 0, 0, 0: mean 0.25, deviation 0.5."""
    run, _ = run_of(world, {0: [RIGHT], 1: [WRONG], 2: ["no form"], 3: [WRONG]})
    [trace] = chains(run, {"q": ["gold"]}, "em")
    weights = by_step(trace, "outcome", 0.3)
    said = {step.text: weights[step.place] for step in steps(trace)}
    assert said == pytest.approx({RIGHT: 1.5, WRONG: -0.5, "no form": -0.5}, abs=1e-3)


def test_a_process_reward_keeps_its_steps(tmp_path: Path):
    espalier.write_world(tmp_path, passages=100, questions=6, seed=5, max_hops=2)
    espalier.expand(
        questions=tmp_path / "questions.jsonl", corpus=tmp_path / "corpus.jsonl", out=tmp_path / "run",
        method="prorag", model="simulated", set={"grow": "group", "group": 3, "annotate": "prm"},
    )  # fmt: skip
    kept = by_process_reward(tmp_path / "run", 6)
    written = (tmp_path / "run" / "rft.jsonl").read_text().splitlines()
    assert kept.trajectories == 18
    assert [row["completion"] for row in kept.rows] == [json.loads(line)["output"] for line in written]
    rollouts = (tmp_path / "run" / "rollouts.jsonl").read_text().splitlines()
    steps = sum(len(json.loads(line)["steps"]) for line in rollouts)
    assert sum(kept.dropped.values()) + len(kept.rows) == steps


def train(world: Path, model: Path, out: Path, **more: Any) -> Any:
    small = {
        "questions": str(world / "questions.jsonl"), "corpus": str(world / "corpus.jsonl"), "model": str(model),
        "prompts": str(world / "prompts"), "out": out, "samples": 2, "lr": 1e-3, "device": "cpu", "threads": 1,
        "max_steps": 2, "set": {"max_tokens": 8, "documents": 1},
    }  # fmt: skip
    return rft(**{**small, **more})


def test_what_was_sampled_and_trained_is_recognised(world, tiny, tmp_path, monkeypatch):
    """An untrained model is never right, so that here every chain is kept."""
    monkeypatch.setattr(sys.modules["espalier.train.rft"], "fault", lambda *args: "")
    out = tmp_path / "out"

    def killed(path: Path, text: str) -> None:
        path.write_text(text)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sys.modules["espalier.train.rft"], "write_text", killed)
        train(world, tiny, out)
    assert not (out / "kept.json").exists()  # it appears with the model
    trained = train(world, tiny, out)
    assert json.loads((out / "kept.json").read_text())["solved"] == 1 and trained.steps == 2
    assert trained.out == out and same(out, out / "model")
    assert train(world, tiny, out).recognised
    (out / "training.json").unlink()
    with pytest.raises(InputError, match="another 'samples'"):  # the samples of another plan stand there
        train(world, tiny, out, samples=3)
    assert not train(world, tiny, out, samples=3, overwrite=True).recognised
    train(world, tiny, tmp_path / "other", samples=3)
    assert same(out, tmp_path / "other")


def test_samples_of_which_nothing_is_kept(world: Path, tiny: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"out: no trajectory was kept: 0.0% of 1 questions .* cannot be read"):
        train(world, tiny, tmp_path / "out")


def test_bad_options_are_named(world: Path, tiny: Path, tmp_path: Path):
    for more, said in (
        ({"filter": "prm"}, "option 'method': decex is not allowed"),
        ({"samples": 0}, "option 'samples': 0"),
        ({"model": "micro:1M"}, "option 'model': micro:1M is not allowed"),
    ):
        with pytest.raises(ValueError, match=said):
            train(world, more.pop("model", tiny), tmp_path / "out", **more)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['{"id": "a", "question": "x?"}'], r"questions.jsonl:1: field 'golden_answers'"),
        ([], r"questions.jsonl: has no questions"),
        (['{"id": "a", "question": "x?", "golden_answers": ["y"]}'] * 2, r"questions.jsonl:2: field 'id': 'a' stands"),
    ],
)
@pytest.mark.parametrize("stage", [rft, grpo])
def test_bad_questions_are_named(world: Path, tiny: Path, tmp_path: Path, stage: Any, lines: list[str], said: str):
    (world / "questions.jsonl").write_text("".join(line + "\n" for line in lines))
    files = {name: str(world / f"{name}.jsonl") for name in ("questions", "corpus")}
    with pytest.raises(InputError, match=said):
        stage(model=str(tiny), out=tmp_path / "out", **files)


def test_a_question_that_stays_open_is_an_error(world, tiny, tmp_path, monkeypatch):
    """Its trajectories would be missing."""
    left = RunResult(tmp_path, {}, 3, False, "no")
    monkeypatch.setattr("espalier.train.sampling.run_job", lambda *given: left)
    with pytest.raises(Error, match=r"the samples of questions.jsonl: 3 questions stay open: no"):
        train(world, tiny, tmp_path / "out")


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
