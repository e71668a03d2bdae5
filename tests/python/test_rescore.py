"""Recorded runs under other options, without a model."""

import functools
import json
import shutil
from pathlib import Path

import espalier as esp
import pytest
from conftest import ModelServer, good, inputs, needs_journal, refused, rows
from espalier.runs.rescore import recorded

pytestmark = needs_journal

SMALL = ["--limit", 8, "--seed", 3]


def test_options_of_the_outputs_change_nothing_but_the_outputs(finished: Path, tmp_path: Path):
    done = good("rescore", finished, "--set", "margin=0.9", "--out", tmp_path / "again", "--json")
    assert json.loads(done.stdout)["undetermined"] == 0

    def nodes(run: Path) -> list[object]:
        return [tree["nodes"] for tree in rows(run / "trees.jsonl")]

    assert nodes(tmp_path / "again") == nodes(finished)
    margins = [row["provenance"]["margin"] for row in rows(tmp_path / "again" / "dpo.jsonl")]
    assert margins and min(margins) >= 0.9 - 1e-9
    assert len(margins) < len(rows(finished / "dpo.jsonl"))
    third = esp.rescore(finished, {"margin": 0.9}, out=tmp_path / "third")
    assert third.summary["calls"] == json.loads(done.stdout)["calls"]


def test_branches_that_were_never_grown_are_counted_as_undetermined(finished: Path, tmp_path: Path):
    done = good("rescore", finished, "--set", "search=full_node", "--out", tmp_path / "full")
    summary = json.loads((tmp_path / "full" / "summary.json").read_text())
    assert summary["open"] > 0
    assert f"undetermined: {summary['open']} questions" in done.stdout
    answers = rows(tmp_path / "full" / "answers.jsonl")
    assert len(answers) == 8
    assert all("not in the journal" in row["error"] for row in answers if row["status"] == "open")


YOUNGER = (
    "inputs.value_head", "retriever.reranker", "retriever.rerank_depth", "encoder", "value", "noted.index",
    "noted.journal", "noted.prompts",
)  # fmt: skip


def test_what_an_older_record_lacks_has_its_default(finished: Path, tmp_path: Path):
    older = tmp_path / "older"
    shutil.copytree(finished, older)
    record = json.loads((older / "run.json").read_text())
    for name in YOUNGER:
        *path, last = name.split(".")
        functools.reduce(dict.__getitem__, path, record).pop(last)
    (older / "run.json").write_text(json.dumps(record))
    again = esp.rescore(older, {"margin": 0.9}, out=tmp_path / "again")
    assert again.summary["undetermined"] == 0
    assert (tmp_path / "again" / "answers.jsonl").read_bytes() == (finished / "answers.jsonl").read_bytes()
    record["model"]["thinking"], record["options"]["select"] = "on", "refine"  # as they were named
    del record["options"]["thinking"]
    (older / "run.json").write_text(json.dumps(record))
    assert {"thinking": "on", "choice": "refine"}.items() <= recorded(older)["set"].items()
    del record["model"]["name"]
    (older / "run.json").write_text(json.dumps(record))
    with pytest.raises(esp.errors.InputError, match=r"field 'model\.name': is missing"):
        esp.rescore(older, {}, out=tmp_path / "none")


def test_a_server_that_is_gone_is_not_missed(files: Path, tmp_path: Path):
    with ModelServer() as server:
        model = ["--model", server.url, "--model-name", "m"]
        good("expand", *inputs(files), "--limit", 3, *model, "--out", tmp_path / "run")
    again = esp.rescore(tmp_path / "run", {"reward": "em"}, out=tmp_path / "em")
    assert again.summary["undetermined"] == 0 and again.summary["calls"] > 0
    assert again.summary["simulated"] is False


@pytest.mark.parametrize(
    ("change", "message"), [("reward=best", "option 'reward' is best"), ("rewar=em", "did you mean 'reward'?")]
)
def test_a_bad_option_is_refused_by_name(finished: Path, tmp_path: Path, change: str, message: str):
    assert message in refused(2, "rescore", finished, "--set", change, "--out", tmp_path / "x")


def test_a_run_without_its_journal_or_record_is_named(files: Path, tmp_path: Path):
    good("expand", *inputs(files), "--out", tmp_path / "run", "--limit", 1, "--no-journal")
    assert "journal.sqlite" in refused(3, "rescore", tmp_path / "run", "--out", tmp_path / "x")
    (tmp_path / "run" / "run.json").write_text("{}")
    assert "is no record of a run" in refused(3, "rescore", tmp_path / "run", "--out", tmp_path / "x")


def test_what_is_damaged_in_a_finished_run_is_named(finished: Path, tmp_path: Path):
    run = shutil.copytree(finished, tmp_path / "run")
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"retriever": {"kind": 1.5}}))
    assert "(field 'retriever.kind': is of another type)" in refused(3, "rescore", run, "--out", tmp_path / "x")
    (run / "run.json").write_text(json.dumps(record))
    esp.write_jsonl(run / "answers.jsonl", [row | {"answer": 5} for row in rows(finished / "answers.jsonl")])
    assert "answers.jsonl:1: field 'answer'" in good("report", run, finished).stderr  # no table
    (run / "summary.json").write_bytes(b"{\xff}")
    assert "summary.json: byte 2 is not UTF-8" in refused(3, "report", run)
