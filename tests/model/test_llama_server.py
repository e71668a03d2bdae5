"""What llama.cpp's server does, row by row of the capability table, and what Espalier makes of it.

A row that a new release changes fails here first. The server is that of `esp.LlamaCpp`, with the micro model.
"""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import MICRO, ROOT
from espalier.local.engine import key_variable

SLOTS = 4
PROMPT = "Q: Who founded the town of Alder?\n(nothing yet)\n>"


class Server:
    """Replies are (status, JSON); `plain` gives that of /completions."""

    def __init__(self, url: str) -> None:
        self.url, self.address = url, url.removesuffix("/v1")

    def ask(self, url: str, request: dict[str, Any] | bytes | None = None) -> tuple[int, Any]:
        """POSTs, or GETs without a request."""
        body = json.dumps(request).encode() if isinstance(request, dict) else request
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ[key_variable()]}"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def read(self) -> int:
        """Prompt tokens that it has computed since its start."""
        key = {"Authorization": f"Bearer {os.environ[key_variable()]}"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.address}/metrics", headers=key)) as page:
            return int(page.read().split(b"\nllamacpp:prompt_tokens_total ")[1].split()[0])

    def plain(self, **request: Any) -> dict[str, Any]:
        given = {"model": "model", "prompt": PROMPT, "max_tokens": 12, "temperature": 1, **request}
        status, reply = self.ask(f"{self.url}/completions", given)
        assert status == 200, reply
        return dict(reply)

    def texts(self, **request: Any) -> list[str]:
        choices = sorted(self.plain(**request)["choices"], key=lambda choice: choice["index"])
        return [choice["text"] for choice in choices]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with esp.LlamaCpp(MICRO, slots=SLOTS, context=1024, threads=1) as model:
        yield Server(model.engine.url)


def test_a_seed_gives_one_text_and_another_seed_another(server: Server):
    assert server.texts(seed=1) == server.texts(seed=1)
    assert len({server.texts(seed=seed)[0] for seed in range(5)}) > 1


def test_n_is_native_and_choice_i_has_seed_plus_i(server: Server):
    together = server.plain(n=3, seed=10)
    assert [choice["text"] for choice in together["choices"]] == [server.texts(seed=10 + i)[0] for i in range(3)]
    assert together["usage"]["completion_tokens"] <= 12  # of the first choice alone


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_samples_of_a_prompt_share_a_request_and_are_those_of_single_requests(server: Server, api: str):
    model = esp.OpenAi(server.url, "model", api=api, api_key_env=key_variable())
    for stop in ([], [server.texts(seed=7)[0].split()[1]]):
        asked = [esp.Prompt(PROMPT, temperature=1.0, max_tokens=12, stop=stop, seed=7, sample=i) for i in range(7)]
        facts = [(reply.text, reply.finish, reply.completion_tokens, reply.prompt_tokens) for reply in model(asked)]
        alone = [model([prompt])[0] for prompt in asked]
        assert facts == [(one.text, one.finish, one.completion_tokens, one.prompt_tokens) for one in alone]
        assert stop or len(set(facts)) > 1


def test_the_stop_string_is_taken_away_and_not_named_and_the_client_puts_it_back(server: Server):
    word = server.texts(temperature=0)[0].split()[1]
    [choice] = server.plain(temperature=0, stop=[word])["choices"]
    assert word not in choice["text"] and choice["finish_reason"] == "stop"
    assert not {"stop_reason", "matched_stop"} & choice.keys()
    status, own = server.ask(f"{server.address}/completion", {"prompt": PROMPT, "temperature": 0, "stop": [word]})
    assert status == 200 and own["stop_type"] == "word" and own["stopping_word"] == word
    model = esp.OpenAi(server.url, "model", api="completions", api_key_env=key_variable())
    [completion] = model([esp.Prompt(PROMPT, temperature=0, max_tokens=12, stop=[word])])
    assert completion.text == choice["text"] + word
    assert completion.finish == "stop" and completion.prompt_tokens > 0


def test_sampling_fields_have_to_be_sent(server: Server):
    status, own = server.ask(f"{server.address}/completion", {"prompt": PROMPT, "n_predict": 1})
    settings = own["generation_settings"]
    assert status == 200
    assert [settings[name] for name in ("top_k", "top_p", "min_p")] == pytest.approx([40, 0.95, 0.05])


def test_logprobs_of_plain_completions_have_the_chat_shape(server: Server):
    logprobs = server.plain(logprobs=3)["choices"][0]["logprobs"]
    assert "token_logprobs" not in logprobs
    assert all(token["logprob"] <= 0 and len(token["top_logprobs"]) == 3 for token in logprobs["content"])


def test_echo_and_an_unknown_model_are_ignored_and_max_tokens_0_gives_a_token(server: Server):
    assert PROMPT not in server.texts(echo=True, logprobs=1, max_tokens=1)[0]
    assert server.plain(model="nobody")["choices"]
    assert server.plain(max_tokens=0)["usage"]["completion_tokens"] == 1


def test_prompts_may_be_token_ids_and_lists(server: Server):
    _, tokenised = server.ask(f"{server.address}/tokenize", {"content": PROMPT, "add_special": True})
    assert server.texts(prompt=tokenised["tokens"], seed=4) == server.texts(seed=4)
    assert len(server.plain(prompt=[PROMPT, "who"], seed=4)["choices"]) == 2


def test_a_prefill_is_continued_and_comes_back_in_the_reply(server: Server):
    messages = [{"role": "user", "content": "who"}, {"role": "assistant", "content": "I think the king"}]
    status, reply = server.ask(f"{server.url}/chat/completions", {"messages": messages, "max_tokens": 4, "seed": 1})
    assert status == 200 and reply["choices"][0]["message"]["content"].startswith("I think the king")


def test_a_grammar_shapes_the_text(server: Server):
    assert server.texts(grammar='root ::= " so" " then"+', max_tokens=6)[0].startswith(" so then")


def test_what_cannot_be_read_or_held_is_refused(server: Server):
    status, reply = server.ask(f"{server.url}/completions", {"prompt": "the king " * 9000, "max_tokens": 1})
    assert status == 400 and reply["error"]["type"] == "exceed_context_size_error"
    assert server.ask(f"{server.url}/completions", b'{"prompt": ')[0] in (400, 500)


def test_it_tells_about_itself(server: Server):
    assert server.ask(f"{server.address}/health") == (200, {"status": "ok"})
    assert len(server.ask(f"{server.address}/slots")[1]) == SLOTS
    assert server.ask(f"{server.address}/props")[1]["total_slots"] == SLOTS
    assert server.ask(f"{server.url}/models")[1]["data"][0]["owned_by"] == "llamacpp"


def test_a_run_whose_replies_come_in_chunks_is_the_same(server: Server, tmp_path: Path):
    """One request at a time: a real server is not deterministic while several of its slots are busy."""
    esp.write_world(tmp_path, passages=60, questions=1, seed=5)
    small = {"k": 2, "n": 1, "T_max": 2, "rollout_rounds": 2, "documents": 1, "max_tokens": 40}
    (tmp_path / "key").write_text(os.environ[key_variable()])
    made = []
    for stream in (False, True):
        asked = {name: tmp_path / f"{name}.jsonl" for name in ("questions", "corpus")} | {"stream": stream}
        asked |= {"model": server.url, "model_name": "model", "api_key_file": tmp_path / "key", "in_flight": 1}
        asked |= {"prompts": ROOT / "examples/compact_prompts", "constrain": "off"}
        before = server.read()
        run = esp.expand(**asked, out=tmp_path / str(stream), set=small)
        told = run.summary["prompt_cache"].values()
        assert run.open == 0 and sum(one["read"] for one in told) == server.read() - before
        assert sum(one["prompt_tokens"] for one in told) == run.summary["prompt_tokens"]
        made.append([(run.out / f"{name}.jsonl").read_bytes() for name in ("trees", "answers", "sft", "dpo")])
    assert made[0] == made[1] and made[0][0].count(b"\n") == 1


def test_a_run_that_keeps_tokens_grows_the_same_trees(tmp_path: Path):
    data = {name: ROOT / "examples/real" / f"{name}.jsonl" for name in ("questions", "corpus")}
    options = {"form": "policy", "k": 2, "n": 2, "max_tokens": 32, "max_calls": 16}
    given = {"model": f"gguf:{MICRO}?slots=4&threads=1", "set": options, "limit": 1, "constrain": "off"}
    for name, keeps in (("plain", False), ("kept", True)):
        assert esp.expand(**data, **given, keep_tokens=keeps, out=tmp_path / name).open == 0
    assert (tmp_path / "kept/trees.jsonl").read_bytes() == (tmp_path / "plain/trees.jsonl").read_bytes()
    kept = [json.loads(line) for line in (tmp_path / "kept/tokens.jsonl").read_text().splitlines()]
    assert kept and all(0 < len(row["ids"]) == len(row["logprobs"]) <= 32 for row in kept)
