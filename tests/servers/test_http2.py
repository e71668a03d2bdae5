"""Whole runs over TLS against a server that speaks HTTP/2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
import trustme
from fault_server import FaultServer
from h2_server import H2Server
from runs import contents, expand, knowledge, rows


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    esp.write_world(folder, passages=60, questions=3, seed=5)
    return folder


@pytest.fixture(scope="module")
def plain(world: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run over bare HTTP/1.1."""
    out = tmp_path_factory.mktemp("plain")
    with FaultServer(**knowledge(world)) as server:
        assert expand(world, server, out).open == 0
    return contents(out)


@pytest.fixture
def run(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[H2Server, dict[str, bytes]]]:
    def do(timeout: float = 1, **habits: Any) -> tuple[H2Server, dict[str, bytes]]:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(tmp_path / "authority.pem")
        with H2Server(knowledge(world), authority, tmp_path, **habits) as server:
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
            assert expand(world, server, tmp_path / "run", timeout=timeout).open == 0
        return server, contents(tmp_path / "run")

    return do


def test_many_requests_share_few_connections(run, plain):
    server, files = run(timeout=60)  # an attempt that is given up may cost its connection
    versions, ports = zip(*server.met, strict=True)
    assert set(versions) == {"2"}
    assert server.met.total() > 50 and len(set(ports)) <= 3  # the model's, the retriever's
    assert files == plain


def test_a_server_without_http2_is_spoken_to_as_ever(run, plain):
    server, files = run(alpn=("http/1.1",))
    assert {version for version, _ in server.met} == {"1.1"}
    assert files == plain


def test_streams_that_break_and_connections_that_go_away_change_no_byte(run, plain):
    server, files = run(most_requests=20, breaks_every=7)
    assert {version for version, _ in server.met} == {"2"}
    assert server.broken > 0 and len(server.met) > server.met.total() // 40
    assert files == plain


def test_an_authority_that_is_not_trusted_is_named(world, tmp_path, monkeypatch):
    trustme.CA().cert_pem.write_to_path(tmp_path / "another.pem")
    with H2Server(knowledge(world), trustme.CA(), tmp_path) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "another.pem"))
        assert expand(world, server, tmp_path / "run").open == 3
    assert not server.met
    assert "certificate" in rows(tmp_path / "run" / "answers.jsonl")[0]["error"]
