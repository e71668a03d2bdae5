"""Every method on a small real model in this process: it ends, writes its files, and is the same from its journal."""

import json
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import MICRO, ROOT, rows
from espalier.eval import score

METHODS = ("airrag", "decex", "decouple", "prorag", "reasonrag")
FEW = {"max_calls": 4, "max_tokens": 40, "documents": 2}
ENDED = {"done", "budget", "failed"}


@pytest.fixture(scope="module", autouse=True)
def loaded_once(weights: Path):
    """Keeps the model loaded over the runs of this module."""
    from espalier.local.engine import LlamaEngine
    from espalier.local.sources import source_of
    from espalier.runs.given import shared

    source = source_of(f"gguf:{weights}?slots=4")
    assert source is not None
    with shared(source.key, lambda: LlamaEngine(weights, slots=4)):
        yield


def settings(method: str, model: Path, questions: Path, corpus: Path, **options: object) -> dict[str, Any]:
    return {
        "method": method, "model": f"gguf:{model}?slots=4", "questions": questions, "corpus": corpus, "in_flight": 8,
        "set": {**FEW, **options},
    }  # fmt: skip


@pytest.mark.parametrize("task", ["answer", "expand"])
@pytest.mark.parametrize("method", METHODS)
def test_a_run_ends_and_its_journal_says_the_same(method, task, model, two_questions, corpus, tmp_path):
    """Answers to two questions, or the tree of one."""
    out, grows = tmp_path / "out", task == "expand"
    more = {"max_calls": 8} | ({"n": 2} if method == "decex" else {}) if grows else {}
    asked = settings(method, model, two_questions, corpus, **more) | ({"limit": 1} if grows else {})
    result = getattr(esp, task)(**asked, out=out)
    answers = rows(out / "answers.jsonl")
    assert result.open == 0 and [row["status"] in ENDED for row in answers] == [True] * (1 if grows else 2)
    assert all(row["completions"] >= 1 and row["prompt_tokens"] > 0 for row in answers)
    assert all(tree["oracle"] == grows for tree in rows(out / "trees.jsonl"))
    assert (out / "report.html").stat().st_size > 10_000
    check_readable(result, but=3 if grows else 1)  # of about ten: texts vary with what llama.cpp had in one batch
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["model"]["name"] == model.stem and len(record["model"]["revision"]) == 32
    assert str(model) not in (out / "run.json").read_text(encoding="utf-8")
    files = {path.name for path in out.glob("*.jsonl")} - {"costs.jsonl"}
    check_replay(asked, model, out, tuple(sorted(files)))


def check_readable(result: Any, but: int) -> None:
    """All completions of a run but so many could be read, because --constrain auto has chosen a grammar."""
    purposes = result.summary["by_purpose"].values()
    calls, readable = (sum(cost[name] for cost in purposes) for name in ("calls", "readable"))
    assert calls > 0 and readable >= calls - but


def check_replay(asked: dict[str, Any], model: Path, out: Path, files: tuple[str, ...]) -> None:
    """The same bytes by the finished run, by a replay and, with the model gone, by rescoring under the same options."""
    before = {name: (out / name).read_bytes() for name in files}
    task = json.loads((out / "run.json").read_text(encoding="utf-8"))["task"]
    run = esp.answer if task == "answer" else esp.expand
    assert run(**asked, out=out).recognised
    assert run(**asked, out=out, replay=True).open == 0
    assert {name: (out / name).read_bytes() for name in files} == before
    elsewhere = run(**asked, out=out.with_name("elsewhere"), replay=True, journal_file=out / "journal.sqlite")
    assert {name: (elsewhere.out / name).read_bytes() for name in files} == before
    model.unlink()
    again = esp.rescore(out, {}, out=out.with_name("again"))
    assert again.open == 0
    assert {name: (again.out / name).read_bytes() for name in files} == before


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
    run = esp.answer(**asked, limit=2, set={**OPTIONS, "max_calls": 3, "thinking": "off"}, out=tmp_path / "out")
    assert run.open == 0
    again = esp.rescore(run.out, {}, out=tmp_path / "again")
    assert again.open == 0 and (again.out / "answers.jsonl").read_bytes() == (run.out / "answers.jsonl").read_bytes()
