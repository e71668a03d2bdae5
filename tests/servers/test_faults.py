"""Whole runs against servers that fail: what is transient leaves no trace, what is permanent leaves a question open."""

import re
import ssl
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
import trustme
from dialects import DIALECTS
from fault_server import FaultServer
from faults import PERMANENT, TRANSIENT
from runs import contents, expand, knowledge, rows

Run = Callable[..., esp.parts.RunResult]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    esp.write_world(folder, passages=60, questions=3, seed=5)
    return folder


@pytest.fixture(scope="session")
def serving(world: Path) -> Callable[..., FaultServer]:
    """A server that knows the world, with the faults asked for."""
    return lambda *given, **more: FaultServer(*given, **knowledge(world), **more)


@pytest.fixture(scope="session")
def run(world: Path) -> Run:
    return lambda server, out, **more: expand(world, server, out, **more)


@pytest.fixture(scope="session")
def whole(
    serving: Callable[..., FaultServer], run: Run, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, bytes]]:
    """The files of a run that met no fault, by dialect: all but vLLM's count tokens alike."""

    def do(dialect: str) -> dict[str, bytes]:
        out = tmp_path_factory.mktemp("whole")
        with serving(dialect) as server:
            assert run(server, out).open == 0
        files = contents(out)
        assert all(files.values())  # there is something to compare
        return files

    others = do("openai")
    return dict.fromkeys(DIALECTS, others) | {"vllm": do("vllm")}


@dataclass
class Met:
    """A finished run, what its server met, and what it made."""

    result: esp.parts.RunResult
    server: FaultServer
    files: dict[str, bytes]


@pytest.fixture(scope="session")
def faulty(
    serving: Callable[..., FaultServer], run: Run, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Met]]:
    """The runs with transient faults by name. They wait more than they compute, and so run beside one another."""

    def do(dialect: str, faults: Sequence[str], rate: float, **more: Any) -> Met:
        out = tmp_path_factory.mktemp("faulty")
        with serving(dialect, faults, rate) as server:
            result = run(server, out, **more)
        return Met(result, server, contents(out))

    with ThreadPoolExecutor(8) as pool:
        runs = {fault: pool.submit(do, "vllm", [fault], 0.1) for fault in TRANSIENT}
        runs |= {dialect: pool.submit(do, dialect, TRANSIENT, 0.3, limit=1) for dialect in DIALECTS}
        yield lambda name: runs[name].result()
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_texts_make_the_same_trees_whatever_the_dialect(dialect, serving, run, whole, tmp_path):
    with serving(dialect) as server:
        assert run(server, tmp_path).open == 0
    assert contents(tmp_path) == whole[dialect]


def test_dialects_differ_in_how_they_count_tokens_and_in_nothing_else(whole):
    def uncounted(files):
        return {name: re.sub(rb'"completion_tokens":\d+', b"", content) for name, content in files.items()}

    assert whole["vllm"] != whole["openai"]
    assert uncounted(whole["vllm"]) == uncounted(whole["openai"])


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_transient_fault_at_a_tenth_of_the_attempts_changes_no_byte(fault, faulty, whole):
    met = faulty(fault)
    assert met.result.open == 0 and met.server.met[fault] > 0
    assert met.files == whole["vllm"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_all_transient_faults_together_change_no_byte(dialect, faulty, whole):
    met = faulty(dialect)
    assert met.result.open == 0 and met.server.met.total() > 1.1 * met.server.met[""]
    assert all(whole[dialect][file].startswith(made) for file, made in met.files.items())  # of the first question


def test_a_prompt_that_is_too_long_ends_its_branch_and_the_others_go_on(serving, run, tmp_path, monkeypatch):
    monkeypatch.setattr("dialects.CONTEXT", 120)
    with serving("vllm") as server:
        assert run(server, tmp_path).open == 0
    answers = rows(tmp_path / "answers.jsonl")
    assert {row["status"] for row in answers} <= {"done", "failed"}
    assert "the prompt is too long for the model's context (HTTP 400: " in (tmp_path / "trees.jsonl").read_text()


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    """That of a server whose authority is in authority.pem."""
    authority, made = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    authority.issue_cert("127.0.0.1").configure_cert(made)
    return made


def test_a_broken_tls_handshake_changes_no_byte(serving, run, whole, context, tmp_path, monkeypatch):
    with serving("vllm", ["TLS"], 0.1, tls=context) as server:
        with monkeypatch.context() as trusting:
            trusting.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
            assert run(server, tmp_path / "run").open == 0
        assert server.met["TLS"] > 0
        assert contents(tmp_path / "run") == whole["vllm"]
    with serving("vllm", tls=context) as server:
        untrusted = run(server, tmp_path / "untrusted", timeout=60, attempts=2)
    assert untrusted.open == 3
    assert "certificate" in rows(tmp_path / "untrusted" / "answers.jsonl")[0]["error"]


def test_the_environment_names_trusted_authorities_and_one_that_is_not_there_fails_at_once(
    serving, run, context, tmp_path, monkeypatch
):
    with serving("vllm", tls=context) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
        assert run(server, tmp_path / "run", limit=1).open == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
        assert run(server, tmp_path / "untrusted", limit=1).open == 1
    assert "absent.pem" in rows(tmp_path / "untrusted" / "answers.jsonl")[0]["error"]


@pytest.mark.parametrize("fault", PERMANENT)
def test_a_permanent_fault_leaves_questions_open_until_it_is_gone(fault, serving, run, whole, tmp_path):
    with serving("openai", [fault], 0.02) as server:
        first = run(server, tmp_path)
    assert server.met[fault] > 0 and not server.followed
    answers = rows(tmp_path / "answers.jsonl")
    failed = [row for row in answers if row["status"] == "open"]
    assert first.open == len(failed) > 0
    for row in failed:
        status = {"quota": "429", "redirect": "302"}.get(fault, fault)
        assert row["answer"] is None and f"HTTP {status}" in row["error"]
        assert ("redirects are not followed" if fault == "redirect" else "injected") in row["error"]
    with serving("openai") as server:
        assert run(server, tmp_path).open == 0
    assert contents(tmp_path) == whole["openai"]
