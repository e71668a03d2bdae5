"""Stages of DecEx-RAG that begin before their turn comes."""

from __future__ import annotations

import json
from pathlib import Path

import espalier as esp
import pytest
from conftest import ModelServer, completion, contents, needs_http, needs_journal, sensible


@needs_http
@needs_journal
def test_early_stages_change_no_file_and_what_came_to_nothing_is_counted(files: Path, tmp_path: Path):
    data = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    paid, accounts = {}, {}
    for early in (0, 2):
        out = tmp_path / str(early)
        with ModelServer(lambda request: completion(sensible(request))) as server:
            esp.expand(**data, out=out, model=server.url, model_name="m", constrain="off", in_flight=8, speculate=early)
            paid[early] = len(server.requests)
        accounts[early] = json.loads((out / "accounts.json").read_text())["model"]
    assert contents(tmp_path / "0") == contents(tmp_path / "2")
    assert accounts[0]["paid_cancelled"] == 0 < accounts[2]["paid_cancelled"]
    assert paid[0] < paid[2] <= accounts[2]["paid_applied"] + accounts[2]["paid_cancelled"]
    assert accounts[2]["paid_applied"] == accounts[0]["paid_applied"]
    again = esp.expand(**data, out=tmp_path / "2", model=server.url, model_name="m", constrain="off", speculate=1)
    assert again.recognised  # it is no search option


def test_where_nothing_could_begin_early_it_is_refused(files: Path, tmp_path: Path):
    data = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    for more, allowed in (
        ({"method": "airrag"}, "0 for a task without a search of decex"),
        ({"journal": False}, "0 without a journal"),
    ):
        with pytest.raises(ValueError, match=f"option 'speculate' is 1, allowed: {allowed}"):
            esp.expand(**data, out=tmp_path, speculate=1, **more)
    with pytest.raises(ValueError, match="option 'speculate' is 1, allowed: 0 for a task"):
        esp.answer(**data, out=tmp_path, speculate=1)
