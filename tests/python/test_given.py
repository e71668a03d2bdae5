"""Python functions and parts as the backends of runs with a folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import needs_journal, told
from espalier.errors import BackendError

pytestmark = needs_journal

FILES = ("trees.jsonl", "answers.jsonl")


class Counted:
    """Answers every prompt, and counts the batches and the prompts."""

    def __init__(self, reply: str = "Paris") -> None:
        self.batches: list[int] = []
        self.reply = reply

    def __call__(self, prompts: Sequence[esp.Prompt]) -> list[str]:
        self.batches.append(len(prompts))
        return [self.reply] * len(prompts)


def asked(data: dict[str, Path], out: Path, **more: Any) -> dict[str, Any]:
    return {"method": "direct", **data, "out": out, **more}


def contents(out: Path) -> list[bytes]:
    return [(out / name).read_bytes() for name in FILES]


def answers(out: Path) -> list[str]:
    return [json.loads(line)["answer"] for line in (out / "answers.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_function_is_asked_in_batches(data: dict[str, Path], tmp_path: Path):
    model = Counted()
    result = esp.answer(**asked(data, tmp_path / "out", model=model, model_name="fixed", in_flight=4))
    assert result.open == 0 and set(answers(tmp_path / "out")) == {"Paris"}
    assert 1 < max(model.batches) <= 4 and result.summary["model"] == "fixed"
    assert json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))["model"]["name"] == "fixed"


def test_a_text_names_the_model_of_trees_in_memory_too(data: dict[str, Path], tmp_path: Path):
    questions, books = esp.read_questions(data["questions"]), esp.Bm25(esp.read_passages(data["corpus"]))
    esp.expand(**data, out=tmp_path / "run", model="simulated")
    trees = esp.run(esp.DecExRag(), questions, model="simulated", retriever=books)
    kept = esp.read_run(tmp_path / "run").trees
    assert [tree.to_dict()["nodes"] for tree in trees] == [tree.to_dict()["nodes"] for tree in kept]
    for text, said in ((f"gguf:{tmp_path}/none", "none"), (f"hf:{tmp_path}/none", "none")):
        with pytest.raises(esp.errors.Error, match=said):
            esp.run(esp.DecExRag(), questions, model=text, retriever=books)


def test_a_name_is_the_fingerprint_in_the_journal(data: dict[str, Path], tmp_path: Path):
    journal = tmp_path / "journal.sqlite"
    first, second, stranger, nameless = Counted(), Counted(), Counted(), Counted()
    esp.answer(**asked(data, tmp_path / "a", model=first, model_name="one", journal_file=journal))
    esp.answer(**asked(data, tmp_path / "b", model=second, model_name="one", journal_file=journal))
    esp.answer(**asked(data, tmp_path / "c", model=stranger, model_name="two", journal_file=journal))
    esp.answer(**asked(data, tmp_path / "d", model=nameless, journal_file=journal))
    assert first.batches and not second.batches and sum(stranger.batches) == sum(first.batches)
    assert sum(nameless.batches) == sum(first.batches)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_fingerprint_may_be_the_functions_own(data: dict[str, Path], tmp_path: Path):
    journal = tmp_path / "journal.sqlite"
    first, second = Counted(), Counted()
    for out, model in (("a", first), ("b", second)):
        model.fingerprint = "its own"  # type: ignore[attr-defined]
        esp.answer(**asked(data, tmp_path / out, model=model, journal_file=journal))
    assert first.batches and not second.batches


def test_a_finished_run_a_replay_and_rescore_need_no_function(data: dict[str, Path], tmp_path: Path):
    def broken(prompts: Sequence[esp.Prompt]) -> list[str]:
        raise AssertionError("nobody asks")

    out = tmp_path / "out"
    esp.answer(**asked(data, out, model=Counted(), model_name="fixed"))
    before = contents(out)
    assert esp.answer(**asked(data, out, model=broken, model_name="fixed")).recognised
    assert esp.answer(**asked(data, out, model=broken, model_name="fixed", replay=True)).open == 0
    assert esp.rescore(out, {}, out=tmp_path / "again").open == 0
    assert contents(out) == before == contents(tmp_path / "again")
    with pytest.raises(ValueError, match="another model"):
        esp.answer(**asked(data, out, model=broken, model_name="other"))
    with pytest.raises(ValueError, match="fingerprint"):
        esp.answer(**asked(data, tmp_path / "new", model=broken, replay=True, journal_file=out / "journal.sqlite"))


def test_a_part_is_what_its_name_is(data: dict[str, Path], tmp_path: Path):
    golds = esp.read_questions(data["questions"])
    simulated = esp.Simulated(golds)
    esp.expand(**asked(data, tmp_path / "a", method="decex", model="simulated", limit=2))
    esp.expand(**asked(data, tmp_path / "b", method="decex", model=simulated, limit=2))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_retrievers_and_models_of_purposes_are_functions_too(data: dict[str, Path], tmp_path: Path):
    seen: list[str] = []

    def retriever(queries: Sequence[esp.Query]) -> list[list[esp.Passage]]:
        seen.extend(query.text for query in queries)
        return [[esp.Passage("p", "Title", "Text.")] for _ in queries]

    judge = Counted("1")
    settings = asked(data, tmp_path / "out", method="prorag", limit=2, retriever=retriever, retriever_name="mine")
    result = esp.expand(**settings, models={"judge": (judge, "judge of mine")}, set={"max_calls": 30})
    assert result.open == 0 and seen
    record = json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))
    assert record["retriever"] == {**record["retriever"], "kind": "given", "name": "mine"}
    assert record["model"]["for"] == "judge=judge of mine"
    assert record["noted"]["given"] == "model:judge, retriever"


@pytest.mark.parametrize("task", [esp.answer, esp.expand])
def test_an_async_function_is_awaited_and_its_replies_are_kept(data: dict[str, Path], tmp_path: Path, task: Any):
    simulated, prompts = esp.Simulated(esp.read_questions(data["questions"])), []

    async def model(prompt: esp.Prompt) -> str:
        prompts.append(prompt.key)
        return simulated([prompt])[0]

    settings = {**data, "limit": 3, "method": "decex", "model_name": "m", "journal_file": tmp_path / "journal"}
    task(**settings, out=tmp_path / "a", model=esp.aio.PerRequest(model))
    assert prompts
    prompts.clear()
    task(**settings, out=tmp_path / "b", model=esp.aio.PerRequest(model))
    task(**settings, out=tmp_path / "c", model=simulated)
    assert prompts == [] and contents(tmp_path / "a") == contents(tmp_path / "b") == contents(tmp_path / "c")


def test_failures_are_those_of_the_function(data: dict[str, Path], tmp_path: Path):
    def refusing(prompts: Sequence[esp.Prompt]) -> list[str | BackendError]:
        return [BackendError("no more", permanent=True)] * len(prompts)

    def faulty(prompts: Sequence[esp.Prompt]) -> list[str]:
        raise ZeroDivisionError("mine")

    result = esp.answer(**asked(data, tmp_path / "a", model=refusing, model_name="x"))
    assert result.open == result.summary["questions"] and "no more" in result.why_open
    with pytest.raises(ZeroDivisionError, match="mine"):
        esp.answer(**asked(data, tmp_path / "b", model=faulty, model_name="x"))
    with pytest.raises(TypeError, match="the model must be"):
        esp.answer(**asked(data, tmp_path / "c", model=3, model_name="x"))


def test_eval_and_annotate_take_functions(data: dict[str, Path], tmp_path: Path):
    from espalier.eval import evaluate

    result = evaluate("direct,ircot", **data, out=tmp_path / "eval", model=Counted(), model_name="fixed", limit=2)
    assert [run["status"] for run in result["runs"]] == ["done", "done"]
    esp.expand(**asked(data, tmp_path / "run", method="prorag", limit=1))
    judge = Counted("0.5")
    esp.annotate(tmp_path / "run", {"prm": (judge, "fixed")})
    assert judge.batches


def test_expand_says_that_it_asks_no_values(data: dict[str, Path], tmp_path: Path):
    chosen = {"method": "decouple", "set": {"values": "server", "simulations": 2}, "values": lambda texts: []}
    run = esp.expand(**asked(data, tmp_path, **chosen), limit=1)
    assert "--values was not asked" in run.summary["notes"]["answers.jsonl"]


@pytest.mark.parametrize("key", ["model", "models"])
def test_thinking_is_refused_where_no_server_is_told_of_it(key: str, data: dict[str, Path], tmp_path: Path):
    model = Counted()
    found = model if key == "model" else {"answer": (model, "fixed")}
    other = {} if key == "model" else {"model": "http://127.0.0.1:9/v1", "model_name": "m"}
    with pytest.raises(ValueError, match="option 'thinking' is not allowed beside a function"):
        esp.answer(**asked(data, tmp_path / "out", **{key: found}, **other, set={"thinking": "on"}))
    assert not model.batches


def test_tools_are_refused_where_a_model_is_not_told_of_them(data, tmp_path):
    model, chosen = Counted(), {"set": {"protocol": "tools"}}
    search, questions = esp.DecExRag(form="policy", **chosen), [esp.Question("q")]
    for call in (
        lambda: esp.answer(**asked(data, tmp_path / "out", model=model, model_name="fixed", **chosen)),
        lambda: esp.run(search, questions, model=model, retriever=esp.Bm25([])),
        lambda: esp.ReasonRag(models={"judge": model}, **chosen),
    ):
        told("option 'protocol' cannot be tools beside a function or hf: as model", call)
    assert not model.batches
    simulated = esp.Simulated(esp.read_questions(data["questions"]))
    assert esp.answer(**asked(data, tmp_path / "part", model=simulated, limit=1, **chosen)).open == 0
