"""Runs through an offline batch API, in rounds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ModelServer, contents, espalier, good, inputs, needs_http, needs_journal, refused, rows, sensibly
from espalier.batch import ingest, prepare
from test_kept_tokens import vllm

pytestmark = [needs_http, needs_journal]


def answered(requests: Path, respond: Callable[[dict[str, Any]], tuple[int, bytes]] = sensibly, order: int = 1) -> Path:
    """What a batch API makes of a file of requests; lines come back in another order."""
    lines = []
    for row in rows(requests)[::order]:
        assert row["method"] == "POST" and row["url"] == "/v1/chat/completions"
        status, body = respond(row["body"])
        response = {"status_code": status, "request_id": "r", "body": json.loads(body)}
        lines.append(json.dumps({"id": "b", "custom_id": row["custom_id"], "response": response, "error": None}))
    path = requests.with_name("responses.jsonl")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def job(files: Path, out: Path) -> list[object]:
    shallow = ["--set", "T_max=2", "--set", "rollout_rounds=2"]  # a level of a tree is a round
    return [*inputs(files), "--limit", 4, "--model-name", "m", "--out", out, *shallow]


def finish(job: list[object], out: Path, respond: Callable[[dict[str, Any]], tuple[int, bytes]]) -> int:
    """Rounds until the run is complete; returns their number."""
    for round in range(50):
        done = espalier("batch", "prepare", *job, "--most", 7, "--json")
        assert done.returncode in (0, 1), done.stderr
        told = json.loads(done.stdout)
        if done.returncode == 0:
            assert told["requests"] == 0 and told["open"] == 0
            return round
        assert sum(len(rows(Path(file))) for file in told["files"]) == told["requests"] > 0
        assert all(len(rows(Path(file))) <= 7 for file in told["files"])
        for file in told["files"]:
            good("batch", "ingest", out, answered(Path(file), respond, order=-1))
    raise AssertionError("the run never ends")


@pytest.mark.parametrize(
    ("respond", "more"), [(sensibly, ""), (vllm, "--constrain off --server vllm --keep-tokens")], ids=["plain", "kept"]
)
def test_a_run_in_rounds_ends_in_the_bytes_of_an_online_run(files: Path, tmp_path: Path, respond: Any, more: str):
    online, rounds = ([*job(files, tmp_path / name), *more.split()] for name in ("online", "rounds"))
    respond({"logprobs": True})  # imports what it needs before threads do
    with ModelServer(respond) as server:
        good("expand", *online, "--model", server.url)
        asked = sorted(json.dumps(body | {"n": 1}, sort_keys=True) for body in server.requests)
        assert finish(rounds, tmp_path / "rounds", respond) > 2
        kept = [file.read_bytes() for file in sorted(tmp_path.glob("*/tokens.jsonl"))]
        assert kept[1:] == kept[:1] and all(kept) and len(kept) == 2 * ("--keep-tokens" in more)
        assert contents(tmp_path / "rounds") == contents(tmp_path / "online")
        # The same keys: what a batch answered, an online run does not pay for again, and the other way round.
        server.requests.clear()
        good("expand", *rounds, "--model", server.url, "--overwrite")
        assert server.requests == []
    sent = [row for file in (tmp_path / "rounds" / "batch").glob("requests-*") for row in rows(file)]
    assert len({row["custom_id"] for row in sent}) == len(sent)
    assert sorted(json.dumps(row["body"] | {"n": 1}, sort_keys=True) for row in sent) == asked


def unsure(request: dict[str, Any]) -> tuple[int, bytes]:
    """A reply of which one token is improbable, and the mean one is not."""
    text = "I think of Rome. So the answer is: Rome."
    each = [{"token": letter, "logprob": -0.01 - (letter == "R")} for letter in text]
    choice = {"index": 0, "message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": each}}
    usage = {"prompt_tokens": 7, "completion_tokens": len(text)}
    return 200, json.dumps({"choices": [choice], "usage": usage}).encode()


def test_a_method_that_reads_each_tokens_probability_reads_that_of_a_batch(files: Path, tmp_path: Path):
    words = [*inputs(files), "--limit", 2, "--model-name", "m", "--method", "flare", "--server", "vllm", "--out"]
    with ModelServer(unsure) as server:
        good("answer", *words, tmp_path / "online", "--constrain", "off", "--model", server.url)
    finish([*words, tmp_path / "rounds", "--constrain", "off", "--task", "answer"], tmp_path / "rounds", unsure)
    trees, same = (tmp_path / name / "answers.jsonl" for name in ("rounds", "online"))
    assert trees.read_bytes() == same.read_bytes()


def test_a_failed_response_is_asked_again_and_a_stranger_is_counted(files: Path, tmp_path: Path):
    out = tmp_path / "run"
    first = espalier("batch", "prepare", *job(files, out))
    assert first.returncode == 1 and "requests to send" in first.stdout
    requests = out / "batch" / "requests-0001.jsonl"
    ids = [row["custom_id"] for row in rows(requests)]
    assert f"{requests}: {len(ids)} requests wait" in refused(2, "batch", "prepare", *job(files, out))
    responses = answered(requests)
    lines = rows(responses)
    lines[0]["response"] = {"status_code": 429, "request_id": "r", "body": {"error": {"message": "later"}}}
    lines[1]["response"] = None
    lines[1]["error"] = {"code": "batch_expired", "message": "too late"}
    lines[2]["response"] = {"status_code": 500, "body": "Internal Server Error"}
    lines[4]["error"] = lines[5]["response"]["error"] = {"message": "cut"}  # beside a good body
    long = {"message": "This model's maximum context length is 512 tokens, you requested 600 tokens", "code": 400}
    lines[3]["response"] = {"status_code": 400, "body": {"error": long}}
    lines[-1] |= {"response": {"status_code": 400, "body": None}, "error": {"error": long}}  # vLLM's form
    lines.append(lines[0] | {"custom_id": "ff" * 16})
    responses.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    told = json.loads(espalier("batch", "ingest", out, responses, "--json").stdout)
    why = ("HTTP 429: later", "the reply is an error: too late", 'HTTP 500: "Internal Server Error"')
    cut = dict.fromkeys(ids[4:6], "the reply is an error: cut")
    assert told == {"stored": len(ids) - 5, "failed": dict(zip(ids, why, strict=False)) | cut, "unknown": 1}
    assert espalier("batch", "prepare", *job(files, out)).returncode == 1
    asked = {row["custom_id"] for row in rows(out / "batch" / "requests-0002.jsonl")}
    assert set(ids) & asked == {*ids[:3], *ids[4:6]}  # a prompt that is too long has ended its branch


def test_a_response_that_was_cut_while_it_thought_is_an_answer(files: Path, tmp_path: Path):
    out = tmp_path / "run"
    assert espalier("batch", "prepare", *job(files, out)).returncode == 1
    silent = {"choices": [{"index": 0, "message": {"content": None}, "finish_reason": "length"}]}
    responses = answered(out / "batch" / "requests-0001.jsonl", lambda request: (200, json.dumps(silent).encode()))
    told = json.loads(espalier("batch", "ingest", out, responses, "--json").stdout)
    assert told == {"stored": len(rows(responses)), "failed": {}, "unknown": 0}


BAD = {"{": ":1: is not JSON", '{"response": {}}': ":1: field 'custom_id': is missing"}
BAD['{"custom_id": 7}'] = ":1: field 'custom_id': is not a text"


@pytest.mark.parametrize(("line", "message"), BAD.items())
def test_a_bad_line_is_named(files: Path, tmp_path: Path, line: str, message: str):
    out = tmp_path / "run"
    assert espalier("batch", "prepare", *job(files, out)).returncode == 1
    bad = tmp_path / "bad.jsonl"
    bad.write_text(line + "\n", encoding="utf-8")
    assert f"{bad}{message}" in refused(3, "batch", "ingest", out, bad)


def test_both_steps_name_a_shared_journal_alike(files: Path, tmp_path: Path):
    out, journal = tmp_path / "run", tmp_path / "shared.sqlite"
    settings = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    settings |= {"out": out, "model_name": "m", "limit": 1, "method": "direct", "journal_file": journal}
    round = prepare("answer", settings)
    responses = answered(round.files[0])
    assert ingest(out, [responses], journal_file=journal).stored == round.requests
    assert not (out / "journal.sqlite").exists()
    again = prepare("answer", settings)
    assert again.requests == again.run.open == 0


def test_ingest_without_requests_and_a_batch_without_a_name_are_refused(files: Path, tmp_path: Path):
    assert "there are no requests" in refused(3, "batch", "ingest", tmp_path, tmp_path / "none.jsonl")
    assert "model-name" in refused(2, "batch", "prepare", *inputs(files), "--out", tmp_path / "run")
    assert "option 'model'" in refused(2, "expand", *job(files, tmp_path / "run"), "--model", "batch")
    assert "beside --keep-tokens" in refused(2, "batch", "prepare", *job(files, tmp_path / "run"), "--keep-tokens")
