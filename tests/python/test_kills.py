"""A run that is killed at random moments: the same bytes in the end, and nothing paid for twice."""

from __future__ import annotations

from pathlib import Path

from conftest import ModelServer, contents, espalier, inputs, needs_http, needs_journal
from killing import everything, kill_until_done

pytestmark = [needs_http, needs_journal]


def test_a_killed_run_ends_in_the_same_bytes_and_pays_again_only_for_what_was_in_flight(files: Path, tmp_path: Path):
    with ModelServer(everything) as server:
        retriever = ["--retriever", server.url.replace("/v1", "/retrieve"), "--retriever-name", "canned"]
        command = ["expand", *inputs(files)[:2], "--limit", 6, "--model-name", "m", *retriever]
        whole = espalier(*command, "--model", server.url, "--out", tmp_path / "whole")
        assert whole.returncode == 0, whole.stderr
        asked = len(server.requests)
        tally = kill_until_done(command, tmp_path / "killed", server, kills=10, every=asked // 14, seed=3, in_flight=8)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert tally.kills >= 8
    assert tally.twice_in_one_life == 0
    assert tally.most_again <= 2 * 8  # eight at the model, eight at the retriever
    done = espalier("journal", "verify", tmp_path / "killed")
    assert done.returncode == 0, done.stderr
