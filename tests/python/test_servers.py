"""Sorts of servers, as the package and the command know them, and several servers for one model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import espalier as esp
import pytest
from conftest import ModelServer, completion, contents, espalier, good, inputs, needs_http, needs_journal, refused, rows

pytestmark = needs_http


def test_a_server_is_asked_once_a_call_and_gets_what_its_sort_takes():
    with ModelServer(lambda request: completion("a"), owner="vllm") as server:
        model = esp.OpenAi(server.url, model="m")
        assert server.questions == []  # not before there is something to send
        for _ in range(2):
            assert [c.text for c in model([esp.Prompt("q"), esp.Prompt("r")])] == ["a", "a"]
    assert server.questions == ["/v1/models"] * 2  # what it is, and whether it is still there
    assert len(server.requests) == 4
    for request in server.requests:
        assert (request["top_k"], request["min_p"], request["repetition_penalty"]) == (-1, 0, 1)


def test_a_declared_server_is_asked_whether_it_is_there_and_llama_cpp_for_its_slots():
    with ModelServer(lambda request: completion("a"), owner="vllm") as server:
        esp.OpenAi(server.url, model="m", server="sglang")([esp.Prompt("q")])
        assert server.questions == ["/v1/models"]
        esp.OpenAi(server.url, model="m", server="llamacpp")([esp.Prompt("q")])
    assert server.questions == ["/v1/models", "/props"]
    assert server.requests[1]["repeat_penalty"] == 1
    with pytest.raises(ValueError, match="option 'server' is tgi, allowed: auto, other, vllm"):
        esp.OpenAi("http://127.0.0.1:9/v1", model="m", server="tgi")


def test_an_answer_may_be_begun_and_a_prompt_may_be_token_ids():
    begun = esp.Prompt("capital?", prefill="<answer>")
    assert begun.key != esp.Prompt("capital?").key
    raw = {"choices": [{"index": 0, "text": "a", "finish_reason": "stop"}]}
    with ModelServer(
        lambda request: completion("Paris") if "messages" in request else (200, json.dumps(raw).encode()), owner="vllm"
    ) as server:
        model = esp.OpenAi(server.url, model="m")
        assert [c.text for c in model([begun])] == ["Paris"]
        assert [c.text for c in model([esp.Prompt("", ids=[1, 2, 3])])] == ["a"]
        with pytest.raises(esp.errors.BackendError, match="'ollama' cannot be asked for a prompt of token ids"):
            esp.OpenAi(server.url, model="m", server="ollama")([esp.Prompt("", ids=[1])])
    chat, plain = server.requests
    assert chat["messages"][-1] == {"role": "assistant", "content": "<answer>"} and chat["continue_final_message"]
    assert plain["prompt"] == [1, 2, 3]
    with pytest.raises(ValueError, match="'prefill'"):
        esp.Prompt("", prefill="a", ids=[1])


@needs_journal
def test_a_run_keeps_what_its_server_is(files: Path, tmp_path: Path):
    with ModelServer(owner="sglang") as server:
        model = ["--model", server.url, "--model-name", "m"]
        command = ["answer", *inputs(files), "--limit", 2, *model, "--out", tmp_path]
        good(*command)
        assert json.loads((tmp_path / "servers.json").read_text()) == {server.url: "sglang"}
        asked = len(server.questions)
        good(*command, "--overwrite", "--set", "T_max=3")
    assert server.questions[asked:] == ["/v1/models"]  # whether it is there


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--set", "thinking=50", "--server", "openai"], "'openai' cannot be asked for a number of thinking tokens"),
        (["--constrain", "always", "--server", "other"], "'other' cannot be asked for a grammar"),
        (["--set", "sampling.rollout.constrain=draft", "--server", "other"], "prompt 'rollout': a server of the sort"),
        (["--set", "protocol=tools", "--server", "other"], "cannot be asked for calls of tools"),
    ],
)
def test_what_a_server_cannot_be_asked_is_refused_at_the_start(options, reason, files, tmp_path):
    nowhere = ["--model", "http://127.0.0.1:9/v1", "--model-name", "m", "--out", tmp_path / "out"]
    for more in ([], ["--dry-run"]):
        assert reason in refused(2, "expand", *inputs(files), *nowhere, *options, *more)
    assert not (tmp_path / "out").exists()


@needs_journal
@pytest.mark.parametrize(("owner", "code"), [("vllm", 0), ("nobody", 2)])
def test_an_unknown_server_is_asked_before_it_is_refused(owner: str, code: int, files: Path, tmp_path: Path):
    with ModelServer(owner=owner) as server:
        model = ["--model", server.url, "--model-name", "m", "--set", "thinking=on"]
        done = espalier("answer", *inputs(files), "--limit", 2, *model, "--out", tmp_path)
    assert done.returncode == code, done.stderr
    assert bool(server.requests) == (code == 0)
    assert ("'other' cannot be asked for thinking" in done.stderr) == (code == 2)


def ending(reason: str) -> ModelServer:
    """A server that says this of the end of each reply."""
    return ModelServer(
        lambda request: (200, ModelServer.respond(request)[1].replace(b'"stop"', f'"{reason}"'.encode())), "vllm"
    )


@needs_journal
def test_an_ending_of_a_server_is_one_of_answers_where_an_option_names_it(files: Path, tmp_path: Path):
    named = ["--set", "finish_reasons=parked,paused"]
    with ending("paused") as server:
        model = ["--method", "direct", "--model", server.url, "--model-name", "m", "--constrain", "off"]
        words = ["answer", *inputs(files), "--limit", 2, *model, "--out", tmp_path]
        assert "ended with 'paused'" in refused(1, *words, "--attempts", 1)
        assert "another options.finish_reasons" in refused(2, *words, *named)
        good(*words, *named, "--overwrite")
        assert json.loads((tmp_path / "run.json").read_text())["options"]["finish_reasons"] == "parked,paused"
        assert {row["status"] for row in rows(tmp_path / "answers.jsonl")} == {"done"}
        server.requests.clear()
        good(*words, *named, "--set", "max_calls=9", "--overwrite")  # the journal has them
        assert not server.requests
        asked = esp.OpenAi(server.url, "m", server="vllm", attempts=1, finish_reasons="paused")
        assert asked([esp.Prompt("Who?")])[0].finish == "stop"


def test_what_a_filter_holds_back_is_asked_once_and_the_cause_is_told(files: Path, tmp_path: Path):
    filtered = json.dumps({"error": {"message": "content_filter: blocked", "code": "content_filter"}}).encode()
    with ModelServer(lambda request: (200, filtered), "vllm") as server:
        model = ["--method", "direct", "--model", server.url, "--model-name", "m", "--constrain", "off"]
        said = refused(1, "answer", *inputs(files), "--limit", 2, *model, "--out", tmp_path)
        assert "a filter of the server holds" in said and "Mend that" in said and len(server.requests) == 2


@needs_journal
def test_what_servers_had_read_before_is_told_by_purpose_and_changes_no_tree(files: Path, tmp_path: Path):
    words = ("expand", *inputs(files), "--limit", "3", "--constrain", "off", "--model-name", "m")

    def told(request: dict) -> tuple[int, bytes]:
        request = {name: value for name, value in request.items() if name != "user"}
        return 200, ModelServer.respond(request)[1].replace(b'"total_tokens"', b'"cached_tokens": 2, "total_tokens"')

    with ModelServer(told) as server, ModelServer() as silent:
        done = good(*words, "--model", server.url + "?session=user=s-{question}", "--out", tmp_path / "told")
        asked = len(server.requests)
        kept = ("--journal", tmp_path / "told/journal.sqlite")
        others = [good(*words, "--model", server.url, *kept, "--out", tmp_path / "kept")]
        others += [good(*words, "--model", silent.url, "--out", tmp_path / "silent")]
    assert len({request["user"] for request in server.requests if request["user"].startswith("s-")}) == 3
    summary = json.loads((tmp_path / "told/summary.json").read_text())
    cache = summary["prompt_cache"]
    assert set(cache) == {name for name, costs in summary["by_purpose"].items() if costs["prompt_tokens"]}
    assert sum(one["reused"] for one in cache.values()) == 2 * asked  # once where several wait for a reply
    assert all(one["read"] * 7 == one["prompt_tokens"] * 5 > 0 for one in cache.values())
    line = f"prompt tokens: {7 * asked:,} asked of servers, which reused {2 * asked:,} and read {5 * asked:,}"
    assert line in done.stdout and "  reused  read  readable" in re.sub(r" {2,}", "  ", done.stdout)
    costs = map(json.loads, (tmp_path / "told/costs.jsonl").read_text().splitlines())
    assert sum(row["read_tokens"] for row in costs) == 5 * asked
    assert "<h3>prompt cache</h3>" in (tmp_path / "told/report.html").read_text(encoding="utf-8")
    for name, other in zip(("kept", "silent"), others, strict=True):
        assert "reused" not in other.stdout + (tmp_path / name / "summary.json").read_text()
        assert "reused" not in (tmp_path / name / "costs.jsonl").read_text()
        assert contents(tmp_path / name) == contents(tmp_path / "told")


@needs_journal
def test_several_servers_give_the_bytes_of_one_and_each_question_has_its_own(tmp_path: Path):
    esp.write_world(tmp_path / "world", passages=300, questions=40, seed=5)  # so many that each server has some
    run = ["expand", *inputs(tmp_path / "world"), "--model-name", "m", "--in-flight", 16]
    with ModelServer() as alone:
        good(*run, "--model", alone.url, "--out", tmp_path / "one")
    with ModelServer() as a, ModelServer() as b, ModelServer(lambda _: (503, b"")) as ill:
        endpoints = ["--endpoint", b.url + "*2", "--endpoint", ill.url]
        good(*run, "--model", a.url, *endpoints, "--out", tmp_path / "three")
        assert a.requests and b.requests
        accounts = json.loads((tmp_path / "three" / "accounts.json").read_text())
        assert [endpoint["url"] for endpoint in accounts["endpoints"]] == [a.url, b.url, ill.url]
        assert accounts["endpoints"][2]["failures"] > 0
        assert accounts["model"]["requests"] == sum(endpoint["requests"] for endpoint in accounts["endpoints"])
        assert accounts["model"]["requests"] >= accounts["model"]["paid_applied"] + accounts["model"]["paid_cancelled"]
    assert contents(tmp_path / "three") == contents(tmp_path / "one")


@needs_journal
def test_a_purposes_model_has_servers_of_its_own(files: Path, tmp_path: Path):
    run = ["expand", *inputs(files), "--model-name", "m"]
    with ModelServer() as main, ModelServer() as a, ModelServer() as b:
        another = ["--model-for", f"rollout={a.url},m"]
        good(*run, "--model", main.url, *another, "--out", tmp_path / "one")
        seen = [len(server.requests) for server in (main, a, b)]
        assert seen[0] and seen[1] and not seen[2]
        another += ["--endpoint", f"rollout={b.url}*2"]
        good(*run, "--model", main.url, *another, "--out", tmp_path / "two")
        more = [len(server.requests) - before for server, before in zip((main, a, b), seen, strict=True)]
        assert more[0] == seen[0] and more[1] and more[2] and more[1] + more[2] == seen[1]
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


def test_bad_fleets_are_named(files: Path, tmp_path: Path):
    run = ["expand", *inputs(files), "--model-name", "m", "--out", tmp_path / "out"]
    url = "http://127.0.0.1:9/v1"
    assert "'endpoint'" in refused(2, *run, "--endpoint", url)
    for endpoint, said in ((f"{url}*0", "'endpoint'"), (url, "'endpoint'"), (f"rollout={url}", "purpose 'rollout'")):
        assert said in refused(2, *run, "--model", url, "--endpoint", endpoint)
    for alone in ("simulated", "http://127.0.0.1:9/classify,m"):
        other = ("--model-for", f"rollout={alone}")
        assert "'endpoint'" in refused(2, *run, "--model", url, *other, "--endpoint", f"rollout={url}")
