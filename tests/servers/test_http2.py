"""Whole runs over TLS against a server that speaks HTTP/2."""

from pathlib import Path

import espalier as esp
import pytest
import trustme
from fault_server import FaultServer
from h2_server import H2Server
from runs import contents, expand, knowledge


def test_many_requests_share_few_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    esp.write_world(tmp_path, passages=60, questions=3, seed=5)
    with FaultServer(**knowledge(tmp_path)) as plain:
        assert expand(tmp_path, plain, tmp_path / "plain").open == 0
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with H2Server(knowledge(tmp_path), authority, tmp_path) as server:
        # An attempt that is given up may cost its connection.
        assert expand(tmp_path, server, tmp_path / "run", timeout=60).open == 0
    versions, ports = zip(*server.met, strict=True)
    assert set(versions) == {"2"}
    assert len(ports) > 50 and len(set(ports)) <= 3  # the model's, the retriever's
    assert contents(tmp_path / "run") == contents(tmp_path / "plain")
