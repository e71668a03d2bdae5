"""What llama.cpp's two servers do, row by row of the capability table, and what Espalier makes of it.

A row that a new release of theirs changes fails here first.
"""

from __future__ import annotations

import faulthandler
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from runs import contents
from server_process import ServerProcess, ask
from tiny_model import write_model

SLOTS = 4
PROMPT = "the first king of the north was born in"


@pytest.fixture(scope="session")
def llama() -> Path:
    """The folder of the servers, built at the first call."""
    faulthandler.cancel_dump_traceback_later()  # pytest's limit of a test: a build may take longer
    built = subprocess.run(
        [Path(__file__).with_name("build_llama.sh")],
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        text=True,
        timeout=3600,
        check=True,
    )
    return Path(built.stdout.strip())


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    write_model(path)
    return path


def native(llama: Path, model: Path, log: Path, *options: object) -> ServerProcess:
    # one thread: more of them wait for one another
    command = [llama / "bin" / "llama-server", "-m", model, "-t", 1, "--no-ui", "--no-warmup", *options]
    return ServerProcess(command, "/health", log)


@pytest.fixture(scope="session")
def server(llama: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    log = tmp_path_factory.mktemp("server") / "log"
    with native(llama, model, log, "--parallel", SLOTS, "-c", SLOTS * 8192) as running:
        yield running


def plain(server: ServerProcess, **request: Any) -> dict[str, Any]:
    """The reply to a request of /completions."""
    status, reply = ask(f"{server.url}/completions", {"model": "tiny", "prompt": PROMPT, "max_tokens": 12, **request})
    assert status == 200, reply
    return reply


def texts(reply: dict[str, Any]) -> list[str]:
    return [choice["text"] for choice in sorted(reply["choices"], key=lambda choice: choice["index"])]


# llama-server, one row of the table each


def test_a_seed_gives_one_text_and_another_seed_another(server: ServerProcess):
    assert texts(plain(server, seed=1)) == texts(plain(server, seed=1))
    assert len({texts(plain(server, seed=seed))[0] for seed in range(5)}) > 1


def test_n_is_native_and_choice_i_has_seed_plus_i(server: ServerProcess):
    together = plain(server, n=3, seed=10)
    assert texts(together) == [texts(plain(server, seed=10 + i))[0] for i in range(3)]
    assert together["usage"]["completion_tokens"] <= 12  # of the first choice alone


def test_the_stop_string_is_taken_away_and_not_named(server: ServerProcess):
    word = texts(plain(server, temperature=0))[0].split()[3]
    reply = plain(server, temperature=0, stop=[word])
    assert word not in texts(reply)[0] and reply["choices"][0]["finish_reason"] == "stop"
    assert not {"stop_reason", "matched_stop"} & reply["choices"][0].keys()
    status, own = ask(f"{server.address}/completion", {"prompt": PROMPT, "temperature": 0, "stop": [word]})
    assert status == 200 and own["stop_type"] == "word" and own["stopping_word"] == word


def test_sampling_fields_have_to_be_sent(server: ServerProcess):
    status, own = ask(f"{server.address}/completion", {"prompt": PROMPT, "n_predict": 1})
    settings = own["generation_settings"]
    assert status == 200
    assert [settings[name] for name in ("top_k", "top_p", "min_p")] == pytest.approx([40, 0.95, 0.05])


def test_logprobs_of_plain_completions_have_the_chat_shape(server: ServerProcess):
    logprobs = plain(server, logprobs=3)["choices"][0]["logprobs"]
    assert "token_logprobs" not in logprobs
    assert all(token["logprob"] <= 0 and len(token["top_logprobs"]) == 3 for token in logprobs["content"])


def test_echo_is_ignored(server: ServerProcess):
    assert PROMPT not in texts(plain(server, echo=True, logprobs=1, max_tokens=1))[0]


def test_max_tokens_0_gives_a_token(server: ServerProcess):
    assert plain(server, max_tokens=0)["usage"]["completion_tokens"] == 1


def test_prompts_may_be_token_ids_and_lists(server: ServerProcess):
    _, tokenised = ask(f"{server.address}/tokenize", {"content": PROMPT, "add_special": True})
    assert texts(plain(server, prompt=tokenised["tokens"], seed=4)) == texts(plain(server, seed=4))
    assert len(plain(server, prompt=[PROMPT, "who"], seed=4)["choices"]) == 2


def test_a_prefill_is_continued_and_comes_back_in_the_reply(server: ServerProcess):
    messages = [{"role": "user", "content": "who"}, {"role": "assistant", "content": "I think the king"}]
    status, reply = ask(f"{server.url}/chat/completions", {"messages": messages, "max_tokens": 4, "seed": 1})
    assert status == 200 and reply["choices"][0]["message"]["content"].startswith("I think the king")


def test_a_schema_shapes_the_text(server: ServerProcess):
    assert texts(plain(server, grammar='root ::= " so" " then"+', max_tokens=6))[0].startswith(" so then")


def test_an_unknown_model_is_accepted(server: ServerProcess):
    assert plain(server, model="nobody")["choices"]


def test_a_prompt_beyond_the_slot_is_refused(server: ServerProcess):
    status, reply = ask(f"{server.url}/completions", {"prompt": "the king " * 9000, "max_tokens": 1})
    assert status == 400 and reply["error"]["type"] == "exceed_context_size_error"


def test_malformed_json_is_an_error_of_the_server(server: ServerProcess):
    assert ask(f"{server.url}/completions", b'{"prompt": ')[0] == 500


def test_it_tells_about_itself(server: ServerProcess):
    assert ask(f"{server.address}/health") == (200, {"status": "ok"})
    assert len(ask(f"{server.address}/slots")[1]) == SLOTS
    assert ask(f"{server.address}/props")[1]["total_slots"] == SLOTS
    assert ask(f"{server.url}/models")[1]["data"][0]["owned_by"] == "llamacpp"


# Espalier's client on it


def test_the_client_puts_the_stop_string_back(server: ServerProcess):
    model = esp.OpenAi(server.url, "tiny", api="completions")
    word = texts(plain(server, temperature=0, top_p=1))[0].split()[3]
    [completion] = model([esp.Prompt(PROMPT, temperature=0, max_tokens=12, stop=[word])])
    assert completion.text.endswith(word) and completion.text.count(word) == 1
    assert completion.finish == "stop" and completion.prompt_tokens > 0


def test_a_refused_prompt_is_a_permanent_failure_that_says_why(server: ServerProcess):
    model = esp.OpenAi(server.url, "tiny")
    with pytest.raises(esp.errors.BackendError, match="HTTP 400"):
        model([esp.Prompt("the king " * 9000)])


def test_the_key_is_needed_and_sent(llama: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "key").write_text("sesame\n")
    with native(llama, model, tmp_path / "log", "--parallel", 1, "-c", 8192, "--api-key", "sesame") as server:
        with pytest.raises(esp.errors.BackendError, match="HTTP 401"):
            esp.OpenAi(server.url, "tiny")([esp.Prompt("who")])
        keyed = esp.OpenAi(server.url, "tiny", api_key_file=str(tmp_path / "key"))
        assert keyed([esp.Prompt("who", max_tokens=2)])[0].completion_tokens > 0


def test_embeddings(llama: Path, model: Path, tmp_path: Path):
    with native(llama, model, tmp_path / "log", "--embedding", "--pooling", "mean", "-c", 8192) as server:
        encoder = esp.HttpEncoder(server.url, "tiny", normalise=True, batch=2)
        vectors = encoder([esp.parts.EncodeRequest(text) for text in ("the king", "a river", "the king")])
        with pytest.raises(esp.errors.BackendError, match="give the URL up to /v1"):
            esp.HttpEncoder(server.address, "tiny")([esp.parts.EncodeRequest("the king")])
    assert vectors[0] == pytest.approx(vectors[2], abs=1e-4) and vectors[0] != pytest.approx(vectors[1], abs=1e-2)
    assert sum(x * x for x in vectors[0]) == pytest.approx(1, abs=1e-4)


# llama_cpp.server, the Python one


@pytest.fixture(scope="session")
def python_server(llama: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    log = tmp_path_factory.mktemp("python") / "log"
    options = {"model": model, "n_ctx": 8192, "n_threads": 1, "interrupt_requests": False, "logits_all": True}
    command = [sys.executable, "-m", "llama_cpp.server", *(f"--{name}={value}" for name, value in options.items())]
    paths = {"PYTHONPATH": str(llama / "python"), "LLAMA_CPP_LIB_PATH": str(llama / "bin")}
    with ServerProcess(command, "/v1/models", log, paths) as running:
        yield running


def test_the_python_server_gives_itself_away(python_server: ServerProcess):
    assert ask(f"{python_server.url}/models")[1]["data"][0]["owned_by"] == "me"
    assert ask(f"{python_server.address}/health")[0] == 404


def test_the_python_server_ignores_n(python_server: ServerProcess):
    assert len(plain(python_server, n=3)["choices"]) == 1


def test_the_python_server_echoes_the_prompt_with_its_logprobs(python_server: ServerProcess):
    reply = plain(python_server, echo=True, logprobs=1, max_tokens=1)
    logprobs = reply["choices"][0]["logprobs"]
    assert texts(reply)[0].startswith(PROMPT)
    # all but the mark at the beginning, and the one token made
    assert len(logprobs["token_logprobs"]) == len(logprobs["tokens"]) == reply["usage"]["prompt_tokens"]


def test_the_python_server_knows_no_token_ids_and_no_lists(python_server: ServerProcess):
    for prompts in ([PROMPT, PROMPT], [5, 6, 7]):
        status, _ = ask(f"{python_server.url}/completions", {"prompt": prompts, "max_tokens": 2})
        assert status == 500


# Whole runs


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    esp.write_world(folder, passages=60, questions=1, seed=5)
    return folder


def expand(world: Path, out: Path, url: str, **more: Any) -> esp.runs.RunResult:
    return esp.expand(
        questions=world / "questions.jsonl",
        corpus=world / "corpus.jsonl",
        model=url,
        model_name="tiny",
        out=out,
        set={"k": 2, "n": 1, "T_max": 2, "rollout_rounds": 2, "documents": 1, "max_tokens": 40},
        **more,
    )


@pytest.mark.parametrize("kind", ["server", "python_server"])
def test_a_run_completes_and_its_journal_makes_it_again(
    kind: str, world: Path, tmp_path: Path, request: pytest.FixtureRequest
):
    server = request.getfixturevalue(kind)
    assert expand(world, tmp_path / "run", server.url).open == 0
    made = contents(tmp_path / "run")
    assert made["trees.jsonl"].count(b"\n") == 1
    (tmp_path / "again").mkdir()
    for part in (tmp_path / "run").glob("journal.sqlite*"):
        shutil.copy(part, tmp_path / "again")
    again = expand(world, tmp_path / "again", "http://127.0.0.1:9", replay=True)
    assert again.open == 0 and contents(tmp_path / "again") == made


@pytest.mark.parametrize("kind", ["server", "python_server"])
def test_a_run_whose_replies_come_in_chunks_is_the_same(
    kind: str, world: Path, tmp_path: Path, request: pytest.FixtureRequest
):
    server = request.getfixturevalue(kind)
    for name, stream in (("whole", False), ("chunks", True)):
        assert expand(world, tmp_path / name, server.url, stream=stream, in_flight=1).open == 0
    assert contents(tmp_path / "chunks") == contents(tmp_path / "whole")
