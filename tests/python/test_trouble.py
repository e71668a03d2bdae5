"""Servers that do not reply or refuse: said at once, by the command, by views of progress and by the log."""

from __future__ import annotations

import io
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import espalier as esp
import pytest
from conftest import ModelServer, completion, espalier, inputs, needs_http, refused, sensible
from espalier.runs.progress import Bar, Lines, ProgressView, describe

BAD_KEY = json.dumps({"error": {"message": "Incorrect API key"}}).encode()


@pytest.fixture
def dead() -> Iterator[str]:
    """An address where nobody listens: a port that is bound, and stays so."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


@pytest.fixture
def strict() -> Iterator[ModelServer]:
    with ModelServer(lambda request: (401, BAD_KEY)) as server:
        yield server


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "espalier"]


def test_the_command_says_at_once_and_at_its_end_that_a_key_is_wrong(files: Path, tmp_path: Path, strict: ModelServer):
    job = [*inputs(files), "--limit", 3, "--model", strict.url, "--model-name", "m"]
    done = espalier("expand", *job, "--out", tmp_path / "run")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and "HTTP 401: Incorrect API key" in lines[-1]
    assert sum(line.startswith("espalier: question '") and "is open: POST" in line for line in lines) == 1
    done = espalier("eval", "--methods", "direct,cot", *job, "--out", tmp_path / "eval")
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and "not finished: direct, cot" in last and "HTTP 401: Incorrect API key" in last
    assert all("the server wants another key" in said and "Mend that" in said for said in (lines[-1], last))


def test_a_model_that_is_not_named_or_not_known_is_told_with_what_to_give(files: Path, tmp_path: Path):
    job = ["expand", *inputs(files), "--limit", 1, "--out", tmp_path / "run"]
    for model in ("gpt-4o", "localhost:8000/v1", "model.gguf"):
        said = refused(2, *job, "--model", model)
        assert f"'model' is {model}, allowed" in said and "--model http://HOST/v1 --model-name NAME" in said
    assert "'model-name' is gpt-4o, allowed: none beside the simu" in refused(2, *job, "--model-name", "gpt-4o")
    with ModelServer(lambda request: (404, b'{"error": {"message": "no model m"}}')) as server:
        assert "'model-name' is empty" in refused(2, *job, "--model", server.url)
        assert "'model-for' is empty" in refused(2, *job, "--model-for", f"own_answer={server.url}")
        for part in ("--reranker URL/rerank", "--method=airrag --set=terminal_reward=embedding --encoder URL"):
            said = refused(2, *job, *part.replace("URL", server.url).split())
            assert "'name' is empty" in said and f"{server.url}" in said and ": URL?name=NAME" in said
        said = espalier(*job, "--model", server.url, "--model-name", "m").stderr.splitlines()[-1]
    assert "the server knows no such model or path" in said and "--model-name one of URL/models" in said
    said = refused(3, "export", tmp_path / "run", "--format", "sft.messages", "--out", tmp_path / "data")
    assert "sft.jsonl has no rows (1 questions, 0 answered, 0 right: rows are made where an answer is right" in said


def test_jobs_in_python_warn_in_the_log(data: Any, tmp_path: Path, dead: str, strict: ModelServer, caplog: Any):
    data = data | {"limit": 3, "model_name": "m"}
    assert esp.answer(**data, out=tmp_path / "dead", model=dead, deadline=4, wait=1).open == 3
    assert [said.partition("/models: ")[0] for said in warnings(caplog)] == [f"no good reply for 0.2 s: GET {dead}"]
    caplog.clear()
    seen: list[esp.parts.Progress] = []
    esp.expand(**data, out=tmp_path / "strict", model=strict.url, progress=seen.append)
    assert len(warnings(caplog)) == 1 and "HTTP 401: Incorrect API key" in warnings(caplog)[0]
    assert seen[-1].trouble == warnings(caplog)[0]
    caplog.clear()
    with ProgressView() as view:  # a view says so itself
        esp.expand(**data, out=tmp_path / "viewed", model=strict.url, progress=view)
    assert warnings(caplog) == []


def test_a_trouble_ends_when_the_server_comes(data: dict[str, Any], tmp_path: Path):
    ready = False

    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        return completion(sensible(request)) if ready else (503, b'{"error": "Loading model"}')

    seen: list[str] = []

    def look(progress: esp.parts.Progress) -> None:
        nonlocal ready
        ready = ready or bool(progress.trouble)
        if not seen or seen[-1] != progress.trouble:
            seen.append(progress.trouble)

    with ModelServer(respond, owner="vllm") as server:
        waits = {"deadline": 4, "wait": 30, "progress": look}
        run = esp.answer(**data, limit=2, out=tmp_path, model=server.url, model_name="m", **waits)
    assert run.open == 0 and len(seen) == 3 and seen[0] == seen[2] == ""
    assert seen[1] == f"no good reply for 0.2 s: POST {server.url}/chat/completions: HTTP 503: Loading model"


def test_searches_in_memory_and_parts_warn_too(world: esp.World, dead: str, strict: ModelServer, caplog: Any):
    with pytest.raises(esp.errors.BackendError):
        esp.run(esp.Method("direct"), world.questions[:3], model=esp.OpenAi(dead, "m", deadline=4, wait=1))
    assert warnings(caplog)[0].startswith("no good reply for 0.2 s: ")
    assert len(warnings(caplog)) == 2 and "failed: GET" in warnings(caplog)[1]
    caplog.clear()
    with pytest.raises(esp.errors.BackendError):
        esp.run(esp.Method("direct"), world.questions[:3], model=esp.OpenAi(strict.url, "m"))
    assert len(warnings(caplog)) == 1 and "failed: POST" in warnings(caplog)[0] and "other key" in warnings(caplog)[0]


def test_a_usage_that_cannot_be_is_said_and_noted(files: Path, tmp_path: Path, world: esp.World, caplog: Any):
    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        reply = json.loads(completion(sensible(request))[1])
        return 200, json.dumps({**reply, "usage": {"prompt_tokens": 7, "completion_tokens": 2**63 - 1}}).encode()

    with ModelServer(respond) as server:
        job = [*inputs(files), "--limit", 3, "--model", server.url, "--model-name", "m", "--out", tmp_path / "run"]
        done = espalier("expand", *job)
        model = esp.OpenAi(server.url, "m")
        esp.run(esp.Method("direct"), world.questions[:3], model=model)
    assert done.returncode in (0, 4), done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["completion_tokens"] == 0 and summary["prompt_tokens"] > 0
    assert "9223372036854775807 completion tokens" in summary["notes"]["answers.jsonl"]
    assert "9223372036854775807 completion tokens" in done.stdout
    assert len(warnings(caplog)) == 1 and "9223372036854775807 completion tokens" in warnings(caplog)[0]


def told(trouble: str) -> Any:
    numbers = {"questions_done": 0, "questions": 9, "calls": 0, "tokens": 0, "best_reward": 0.0, "seconds": 0.0}
    return SimpleNamespace(**numbers, trouble=trouble, probes=None)


def test_every_view_says_a_trouble_once_and_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]):
    lines, bar = io.StringIO(), io.StringIO()
    views: list[ProgressView] = [ProgressView(), Lines(lines), Bar(bar)]
    for view in views:
        for trouble in ("", "[red]no reply[/red]", "[red]no reply[/red]", "", "[red]no reply[/red]", "another"):
            view(told(trouble))
    expected = ["espalier: [red]no reply[/red]", "espalier: another"]
    assert capsys.readouterr().err.splitlines() == expected
    assert lines.getvalue().splitlines() == expected
    assert [line.rpartition("\x1b[K")[2] for line in bar.getvalue().split("\n")[:-1]] == expected
    assert describe(told("no good reply for 30 s: POST http://127.0.0.1:8000/v1/chat/completions: refused")).startswith(
        "no good reply for 30 s: POST ...; 0/9 questions"
    )
    assert describe(told("")).startswith("0/9 questions")


def http(status: str, body: str = "<html>no</html>", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n{body}".encode()


@contextmanager
def answering(reply: bytes | None, after: float = 0) -> Iterator[str]:
    """The URL of a server that listens after some seconds and sends `reply` to whoever speaks. None = nothing."""

    def serve() -> None:
        held: list[socket.socket] = []
        time.sleep(after)
        with suppress(OSError):
            bound.listen(64)
            while held.append(bound.accept()[0]) is None:
                if reply is not None:
                    with suppress(ConnectionError), held.pop() as connection:
                        connection.recv(1 << 16)
                        connection.sendall(reply)
        for connection in held:
            connection.close()

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
        bound.shutdown(socket.SHUT_RDWR)  # ends the wait in accept


LOST = "No reply of this server was good"
SENT = [
    *((None, "Timeout was reached"), (b"", "Server returned nothing"), (http("200 OK")[:-3], "partial file")),
    *((http("500 No"), "HTTP 500"), (http("502 Bad Gateway"), "HTTP 502"), (http("503 No", "loading"), "loading")),
    *((b"SSH-2.0-x\r\n", "HTTP/0.9"), (b"\x15\x03\x01\0\x02\x02\x16", "HTTP/0.9"), (http("200 OK"), "is not JSON")),
    *((http("503 No", more="Retry-After: 60\r\n"), "'Retry-After: 60'"), (http("200 OK", ""), "the reply is empty")),
    (http("200 OK", '{"error": {"message": "overloaded"}}'), "the reply is an error: overloaded"),
]
"""What servers send that are none, among them ports of ssh and https, and what is said of each."""
REFUSALS = [http(f"{status} No") for status in ("404", "400", "405", "302", "426")]


@needs_http
def test_each_kind_of_unreached_server_is_given_up_soon_with_cause_address_and_advice(dead, files, tmp_path):
    def asked(url: str) -> str:
        with pytest.raises(esp.errors.BackendError) as error:
            esp.OpenAi(url, "m", timeout=0.3)([esp.Prompt("q")])
        return str(error.value)

    with ExitStack() as stack, ThreadPoolExecutor(32) as pool:
        begin = lambda reply: stack.enter_context(answering(reply))  # noqa: E731
        cases = [(begin(reply), cause) for reply, cause in SENT]
        cases += [(url, "connect") for url in (dead, "http://127.0.0.1:0/v1", "http://[::1]:9/v1")]
        cases += [("http://no-such-host.invalid/v1", "resolve"), (begin(b"no").replace("http", "https"), "SSL connect")]
        refusing = [begin(reply).removesuffix("/v1" * (n == 0)) for n, reply in enumerate(REFUSALS)]
        said = list(pool.map(asked, [*(url for url, _ in cases), *refusing]))
        for (url, cause), told in zip(cases, said, strict=False):
            assert told.startswith((f"GET {url}/models: ", f"POST {url}/chat/completions: ")) and cause in told, told
            assert LOST in told and "`espalier doctor`" in told and "/v1" in told and "--wait S" in told, told
        assert all(f"POST {url}/chat/completions: HTTP" in told for url, told in zip(refusing, said[-5:], strict=True))
        assert "is /v1 missing at the end" in said[-5] and not any(LOST in told for told in said[-5:])
        for number, url in enumerate([cases[0][0], cases[8][0], *refusing]):
            limits = ("--limit=2", "--timeout=0.3", f"--attempts={number}")
            job = [*inputs(files), *limits, "--model", url, "--model-name", "m"]
            done = espalier(("answer", "expand")[number % 2], *job, "--out", tmp_path / str(number))
            last = done.stderr.splitlines()[-1]
            assert done.returncode == 1 and "2 questions are open" in last and "Mend that" in last, last
            assert "again" not in last and (LOST in last) == (number < 2) and url in last


@needs_http
@pytest.mark.parametrize(
    "part",
    [
        *("--retriever URL", "--reranker URL/rerank?name=r", "--model-for rollout=URL,m"),
        "--method airrag --encoder URL?name=e --set terminal_reward=embedding",
        "--method decouple --values URL?name=v --set values=server",
    ],
)
def test_a_part_that_was_never_reached_ends_the_run_whatever_else_works(part: str, files, tmp_path, dead, monkeypatch):
    monkeypatch.setenv("http_proxy", dead)
    last = espalier("answer", *inputs(files), "--out", tmp_path, *part.replace("URL", dead).split()).stderr
    assert dead in last and LOST in last.splitlines()[-1] and "(http_proxy, no_proxy)" in last


@needs_http
def test_a_run_that_gave_up_one_server_asks_the_others_nothing_more(data, world: esp.World, tmp_path: Path, dead: str):
    asks = ModelServer(lambda request: completion("<search> who </search>"))
    with asks as server, answering(http("404 No")) as wrong:
        job = {**data, "method": "search-r1", "model": server.url, "model_name": "m", "open_questions": 1}
        for number, retriever in enumerate((dead, wrong, esp.HttpRetriever(dead))):
            said = esp.answer(**job, out=tmp_path / str(number), retriever=retriever).why_open
            assert LOST in said or ("the server knows no such path" in said and "--model" not in said)
            assert len(server.requests) == number + 1
        with pytest.raises(esp.errors.BackendError, match=LOST):
            parts = {"model": esp.OpenAi(server.url, "m"), "retriever": esp.HttpRetriever(dead)}
            esp.run(esp.Method("search-r1"), world.questions, **parts, open_questions=1)
        assert len(server.requests) == 4


@needs_http
def test_a_server_that_starts_is_waited_for(data: dict[str, Any], tmp_path: Path):
    with answering(http("200 OK", completion("<answer> x </answer>")[1].decode()), after=1) as url:
        run = {**data, "limit": 2, "model": url, "model_name": "m", "method": "direct", "out": tmp_path}
        assert LOST in esp.answer(**run, wait=0.1).why_open
        assert esp.answer(**run, wait=30).open == 0
    rows = Path(data["questions"]).read_text(encoding="utf-8").splitlines()
    (new := tmp_path / "new.jsonl").write_text("\n".join([rows[2], rows[0], rows[1]]), encoding="utf-8")
    later = esp.answer(**{**run, "questions": new, "limit": 3}, open_questions=1, overwrite=True)
    assert (later.open, later.summary["done"]) == (1, 2)  # the journal has their answers
