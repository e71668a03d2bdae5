"""`espalier doctor`: what it finds good, and what it says of what is not."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import ModelServer, completion, inputs, needs_http, needs_journal, sensible
from espalier import cli
from espalier.doctor import inputs as doctor_inputs
from espalier.doctor.services import limits_of
from test_readable import SAID, SHOWN, cut

KEY = "sk-a-very-secret-key"
NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture
def doctor(capsys, monkeypatch, tmp_path: Path) -> Callable[..., tuple[int, dict[str, list[dict[str, Any]]]]]:
    """The exit code and the findings by part."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(*words: object) -> tuple[int, dict[str, list[dict[str, Any]]]]:
        code = cli.main(["doctor", *map(str, words), "--json"])
        shown = capsys.readouterr().out
        assert KEY not in shown
        said = json.loads(shown)
        found: dict[str, list[dict[str, Any]]] = {}
        for finding in said["findings"]:
            found.setdefault(finding["part"], []).append(finding)
            assert finding["state"] == "ok" or finding["advice"]
        assert (code == 1) == (said["problems"] > 0)
        return code, found

    return call


def asked(doctor, respond, *words: object, owner: str = "vllm") -> tuple[Any, Any, list[dict[str, Any]]]:
    """The same of a model server that responds so, or says this, and its requests."""
    with ModelServer(respond if callable(respond) else lambda _: completion(respond), owner=owner) as server:
        return (*doctor("--model", server.url, "--model-name", "m", *words), server.requests)


def states(found: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    return {part: findings[0]["state"] for part, findings in found.items()}


def test_all_is_well_with_files_and_the_simulated_model(doctor, files: Path, tmp_path: Path):
    code, found = doctor(*inputs(files), "--out", tmp_path / "out")
    assert code == 0 and set(states(found)) >= {"options", "questions", "passages", "folder", "disk", "model"}
    assert found["questions"][0]["found"] == "12 questions" and found["passages"][0]["found"] == "300 passages"
    assert found["retriever"][0]["state"] == "ok"
    assert not (tmp_path / "out").exists()


def test_another_distribution_under_our_name_is_a_problem(doctor, files: Path, monkeypatch, tmp_path: Path):
    info = tmp_path / "site" / "espalier-1.4.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: espalier\nVersion: 1.4\n")
    assert states(doctor(*inputs(files))[1])["package"] == "ok"
    monkeypatch.syspath_prepend(info.parent)
    code, found = doctor(*inputs(files))
    assert code == 1 and found["package"][0]["found"] == "espalier 1.4 installs a package of the same name"
    assert "espalier-rag" in found["package"][0]["advice"]


def test_a_server_is_asked_for_real(doctor, monkeypatch, files: Path, tmp_path: Path):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    told = completion("an answer", cached_tokens=2)
    code, found, requests = asked(doctor, lambda _: told, *inputs(files), "--out", tmp_path / "out")
    assert code == 0, found
    assert found["model"][0]["found"].startswith("m answered in")
    assert found["model"][0]["found"].endswith(" s; prompt tokens: 7 asked of servers, which reused 2 and read 5")
    assert [finding["found"] for finding in found["model's server"]] == ["vllm"]
    assert found["key"][0]["found"] == "OPENAI_API_KEY is set"
    prompts = [part for part in found if part.startswith("prompt ")]
    # "an answer" has no marks, so all prompts are asked again under a grammar.
    assert len(requests) == 1 + 2 * len(prompts) and {request["model"] for request in requests} == {"m"}


def test_a_server_that_does_not_say_what_it_is_is_a_warning(doctor):
    code, found, _ = asked(doctor, "an answer", owner="")
    (sort,) = found["model's server"]
    assert code == 0 and sort["state"] == "warning" and "--server" in sort["advice"]
    assert found["key"][0]["state"] == "warning" and found["passages"][0]["state"] == "warning"


def test_an_unknown_model_name_is_a_problem(doctor):
    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        return 404, json.dumps({"error": {"message": "The model `n` does not exist."}}).encode()

    with ModelServer(respond, owner="vllm") as server:
        code, found = doctor("--model", server.url, "--model-name", "n", "--model-for", f"rollout={server.url},o")
    assert code == 1 and "does not exist" in found["model"][0]["found"]
    assert found["model for rollout"][0]["state"] == "problem"


def test_further_servers_are_asked_by_the_name_of_the_model_that_they_serve(doctor):
    with ModelServer(lambda request: completion("an answer"), owner="vllm") as server:
        words = ["--model", NOBODY, "--model-name", "m", "--model-for", f"rollout={NOBODY},o"]
        _, found = doctor(*words, "--endpoint", f"{server.url}*2", "--endpoint", f"rollout={server.url}")
    assert found["endpoint"][0]["state"] == found["endpoint for rollout"][0]["state"] == "ok"
    assert {request["model"] for request in server.requests} == {"m", "o"}


@needs_http
def test_servers_that_nobody_runs_are_problems(doctor, files: Path):
    words = ["--model", NOBODY, "--model-name", "m", "--encoder", f"{NOBODY}?name=e"]
    words += ["--retriever", NOBODY, "--values", f"{NOBODY}?name=v", "--method", "decouple"]
    code, found = doctor("--corpus", files / "corpus.jsonl", *words)
    assert code == 1
    for part in ("model", "encoder", "retriever", "values"):
        assert found[part][0]["state"] == "problem" and "connect" in found[part][0]["found"], part


@needs_http
def test_a_reranker_is_asked_after_a_retriever_that_works(doctor, files: Path):
    code, found = doctor("--corpus", files / "corpus.jsonl", "--reranker", f"{NOBODY}/rerank?name=r")
    assert code == 1 and found["retriever"][0]["state"] == "ok" and found["reranker"][0]["state"] == "problem"


def test_bad_files_and_options_are_problems(doctor, tmp_path: Path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "1"}\n')
    empty = tmp_path / "key"
    empty.write_text("\n")
    words = ["--questions", bad, "--corpus", bad, "--out", bad / "out", "--set", "thresold=1", "--api-key-file", empty]
    code, found = doctor(*words)
    assert code == 1
    said = {"options": "did you mean 'threshold'?", "questions": "bad.jsonl:1", "passages": "bad.jsonl:1"}
    for part, text in (said | {"folder": "bad.jsonl/out", "key": "is empty"}).items():
        assert found[part][0]["state"] == "problem" and text in found[part][0]["found"], part


@needs_journal
def test_a_damaged_journal_is_a_problem(doctor, tmp_path: Path):
    (tmp_path / "journal.sqlite").write_bytes(b"no journal" * 1000)
    code, found = doctor("--out", tmp_path)
    assert code == 1 and "journal.sqlite" in found["journal"][0]["found"]


def test_questions_without_gold_and_no_journal_are_warnings(doctor, tmp_path: Path):
    (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "Who?"}\n')
    code, found = doctor("--questions", tmp_path / "q.jsonl", "--no-journal")
    assert code == 0 and states(found)["questions"] == states(found)["journal"] == "warning"


@pytest.mark.parametrize(("free", "state"), [(50_000_000, "problem"), (1_500_000_000, "warning"), (3e9, "ok")])
def test_little_disk_space_is_told(doctor, monkeypatch, tmp_path: Path, free: float, state: str):
    class Usage:
        pass

    Usage.free = free
    monkeypatch.setattr(doctor_inputs.shutil, "disk_usage", lambda path: Usage)
    assert doctor("--out", tmp_path / "out")[1]["disk"][0]["state"] == state


def test_people_get_a_line_each_with_what_to_do(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert cli.main(["doctor", "--questions", str(tmp_path / "none.jsonl")]) == 1
    lines = capsys.readouterr().out.splitlines()
    where = next(i for i, line in enumerate(lines) if line.startswith("problem  questions:"))
    assert "none.jsonl" in lines[where] and lines[where + 1].strip().startswith("mend the file")


def test_prompts_are_asked_as_a_run_asks_them(doctor, files: Path):
    """With tools, without thoughts, and an ending of their server. So is the model's own question."""
    code, body = completion("<answer>Cervantes</answer>")
    chosen = ("--set=protocol=tools", "--set=thinking=off", "--set=finish_reasons=paused")
    reply = code, body.replace(b'"stop"', b'"paused"')
    _, found, requests = asked(doctor, lambda _: reply, *inputs(files), "--method", "search-r1", *chosen)
    assert states(found)["model"] == "ok" and sum("tools" in request for request in requests) < len(requests)
    assert all(one["chat_template_kwargs"] == {"enable_thinking": False} for one in requests)


def test_calls_that_cannot_be_read_are_not_tried_under_a_grammar(doctor, files: Path):
    more = (*inputs(files), "--set", "protocol=tools", "--method", "search-r1")
    _, found, _ = asked(doctor, "I do not know.", *more)
    assert "prompts" not in found
    said = [findings[0] for part, findings in found.items() if part.startswith("prompt ")]
    assert any("could not be read" in one["found"] for one in said), said
    assert all("shots" not in one["advice"] for one in said)  # worked examples show marks, not calls


def test_a_reply_that_only_a_grammar_makes_readable_is_no_problem(doctor, files: Path):
    def answered(request: dict[str, Any]) -> Any:
        return completion("<answer>Cervantes</answer>" if "structured_outputs" in str(request) else "I do not know.")

    where = (*inputs(files), "--method", "search-r1")
    _, found, _ = asked(doctor, answered, *where)
    _, free, _ = asked(doctor, answered, *where, "--constrain", "off")
    said = [findings[0] for part, findings in found.items() if part.startswith("prompt ")]
    assert any("one under a grammar could" in finding["found"] for finding in said), said
    assert not any("grammar" in findings[0]["found"] for findings in free.values())


@pytest.mark.parametrize("option", [("--constrain", "draft"), ("--set", "constrain=draft"), ("--set", "repair=true")])
def test_prompts_are_asked_with_the_second_chance_of_a_run(option: tuple[str, str], doctor, files: Path):
    def answered(request: dict[str, Any]) -> Any:
        again = len(request["messages"]) > 1  # it is shown its own reply
        return completion("<answer>Cervantes</answer>" if again else "I do not know.")

    _, found, _ = asked(doctor, answered, *inputs(files), "--method", "search-r1", *option)
    said = [findings[0] for part, findings in found.items() if part.startswith("prompt ")]
    assert said and all(finding["found"] == "the reply could be read" for finding in said), said


def test_a_check_takes_as_long_as_the_user_allows():
    """Else 30 s for a server, and as long as a run for a model in the process, that of a purpose included."""
    server, own = {"model": "http://localhost/v1"}, {"model": "gguf:a.gguf"}
    short = {"attempts": 1, "timeout": 30.0, "deadline": 30.0}
    assert limits_of(server) == short and limits_of(own) == {"attempts": 1}
    assert limits_of(server | {"models": {"judge": ("hf:folder", "")}}) == {"attempts": 1}
    assert limits_of(server | {"timeout": 7}) == short | {"timeout": 7}
    assert limits_of(own | {"deadline": 9}) == {"attempts": 1, "deadline": 9}


def test_each_prompt_of_the_method_is_asked_once(doctor):
    told = ("--set", "sampling.rollout.max_tokens=33")
    code, found, requests = asked(doctor, lambda request: completion(sensible(request)), *told, owner="")
    purposes = ["termination", "forced_answer", "sub_question", "next_question", "own_answer", "sub_query", "rollout"]
    assert code == 0 and [part for part in found if part.startswith("prompt ")] == [f"prompt {one}" for one in purposes]
    assert all(states(found)[f"prompt {purpose}"] == "ok" for purpose in purposes)
    limits = [one["max_tokens"] for one in requests if "Don Quixote" in one["messages"][-1]["content"]]
    assert sorted(limits) == [33, *[512] * 6]


@pytest.mark.parametrize("beginning", ["<think> so long", "The first novel is often said to be", "</think><think> a"])
def test_prompts_are_asked_where_a_model_says_more_than_the_first_question_allows(doctor, beginning: str):
    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        return cut(beginning) if request["max_tokens"] == 8 else completion(sensible(request))

    code, found, _ = asked(doctor, respond, owner="")
    assert code == 0 and states(found)["model"] == states(found)["prompt rollout"] == "ok"


def test_what_could_not_be_read_is_shown(doctor):
    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        stops = request.get("stop") or []
        if "</question>" in stops:
            return completion(SAID)
        if "</search>" in stops:
            return cut("<think> so long")
        return cut(None) if stops else completion(sensible(request))

    code, found, _ = asked(doctor, respond, owner="")
    assert code == 0 and states(found)["prompt sub_query"] == "ok"
    untagged, thinking, empty = (found[f"prompt {name}"][0] for name in ("sub_question", "rollout", "own_answer"))
    assert untagged["state"] == thinking["state"] == empty["state"] == "warning"
    assert untagged["found"] == f'the reply could not be read; it begins "{SHOWN}"'
    assert "cut in its thought at max_tokens=512" in thinking["found"] and "so long" in thinking["found"]
    assert "sampling.rollout.max_tokens" in thinking["advice"] and "--set thinking=" in thinking["advice"]
    assert empty["found"].endswith("it is empty")


def test_worked_examples_are_advised_where_they_can_stand_and_the_form_that_the_model_knows(doctor):
    compact = ("--prompts", Path(__file__).parents[2] / "examples/compact_prompts")

    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        return completion(sensible(request) if "</search>" in (request.get("stop") or []) else SAID)

    form = "rollout can be read, the search's other prompts cannot"
    for words, shots in (((), True), (compact, False), (("--method", "search-r1"), False)):
        code, found, _ = asked(doctor, SAID, *words, owner="")
        said = [findings[0] for part, findings in found.items() if part.startswith("prompt ")]
        assert code == 1 and said and all(("--set shots=2" in one["advice"]) == shots for one in said)
        assert "prompts" not in found or form not in str(found["prompts"])
    _, found, _ = asked(doctor, respond, owner="")
    assert found["prompts"][-1]["found"] == form and "--set form=policy" in found["prompts"][-1]["advice"]
    _, found, _ = asked(doctor, respond, "--set", "form=policy", owner="")
    assert form not in str(found)


def test_a_model_of_which_no_reply_can_be_read_is_a_problem(doctor):
    code, found, _ = asked(doctor, SAID, "--method", "search-r1", owner="")
    assert code == 1 and states(found)["prompt step"] == "problem" and SHOWN in found["prompt step"][0]["found"]


@pytest.mark.parametrize("method", esp._core.method_names())
def test_every_prompt_of_every_method_can_be_filled(doctor, method: str):
    _, found, requests = asked(doctor, lambda request: completion(sensible(request)), "--method", method, owner="")
    prompts = [findings[0] for part, findings in found.items() if part.startswith("prompt ")]
    assert prompts and not any("error" in finding["found"] for finding in prompts)
    slot = re.compile(r"\{(question|history|documents|query|step|candidates|gold|answer)\}")
    assert not any(slot.search(str(request["messages"])) for request in requests if "messages" in request)
