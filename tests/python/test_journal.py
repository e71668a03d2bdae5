"""`espalier journal`, journals that are shared, and replays with nobody to ask."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import espalier as esp
import pytest
from conftest import ModelServer, contents, espalier, inputs, needs_http, needs_journal, rows, start
from killing import everything

pytestmark = needs_journal


@pytest.fixture(scope="module")
def finished(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    assert espalier("expand", *inputs(files), "--out", out, "--limit", 4).returncode == 0
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def tamper(run: Path, sql: str) -> None:
    with sqlite3.connect(run / "journal.sqlite") as db:
        db.execute(sql)
    db.close()


def stats(journal: Path) -> dict:
    return json.loads(espalier("journal", "stats", journal, "--json").stdout)


def test_stats_count_records_tokens_and_hits(run: Path):
    before = stats(run)
    summary = json.loads((run / "summary.json").read_text())
    accounts = json.loads((run / "accounts.json").read_text())
    (group,) = before["groups"]
    assert (group["kind"], group["source"]) == ("generation", "simulated")
    assert group["records"] == accounts["model"]["paid_applied"] > 0
    assert 0 < group["requests"] <= group["records"]
    assert group["hits"] == accounts["model"]["cached"]
    assert 0 < group["prompt_tokens"] <= summary["prompt_tokens"]
    assert group["milliseconds"]["p50"] <= group["milliseconds"]["p90"] <= group["milliseconds"]["p99"]
    (use,) = before["runs"]
    assert use["identity"] == json.loads((run / "run.json").read_text())["identity"]
    assert use["records"] == group["records"]

    (run / "summary.json").unlink()
    questions = json.loads((run / "run.json").read_text())["noted"]
    again = espalier(
        "expand", "--questions", questions["questions"], "--corpus", questions["corpus"], "--out", run, "--limit", 4
    )
    assert again.returncode == 0, again.stderr
    after = stats(run)["groups"][0]
    assert after["records"] == group["records"]
    assert after["hits"] == group["hits"] + json.loads((run / "accounts.json").read_text())["model"]["cached"]
    shown = espalier("journal", "stats", run).stdout
    assert f"{group['records']:,}" in shown and "simulated" in shown and use["identity"] in shown


def test_export_gives_requests_with_responses(run: Path, tmp_path: Path):
    everything_ = [json.loads(line) for line in espalier("journal", "export", run).stdout.splitlines()]
    assert len(everything_) == stats(run)["groups"][0]["records"]
    assert all(row["request"]["messages"][-1]["content"] and row["response"]["finish"] == "stop" for row in everything_)
    purposes = {row["purpose"] for row in everything_}
    assert {"rollout", "termination"} <= purposes
    done = espalier("journal", "export", run, "--purpose", "rollout", "--kind", "generation", "--out", tmp_path / "e")
    assert done.returncode == 0
    assert rows(tmp_path / "e") == [row for row in everything_ if row["purpose"] == "rollout"]
    assert espalier("journal", "export", run, "--model", "another").stdout == ""
    assert espalier("journal", "export", run, "--since", "2200-01-01").stdout == ""
    assert len(espalier("journal", "export", run, "--since", "2020-01-01T10:00").stdout.splitlines()) == len(
        everything_
    )
    refused = espalier("journal", "export", run, "--since", "yesterday")
    assert refused.returncode == 2 and "2026-11-21" in refused.stderr


def test_verify_names_what_is_damaged(run: Path):
    good = espalier("journal", "verify", run)
    assert good.returncode == 0 and "records are whole" in good.stdout
    key = json.loads(espalier("journal", "export", run).stdout.splitlines()[2])["key"]
    tamper(run, f"UPDATE record SET value = x'00' WHERE key = x'{key}'")
    bad = espalier("journal", "verify", run)
    assert bad.returncode == 3
    assert f"record {key} is damaged" in bad.stderr and bad.stderr.count("\n") == 1
    told = espalier("journal", "verify", run, "--json")
    assert told.returncode == 3 and key in json.loads(told.stdout)["damage"][0]
    exported = espalier("journal", "export", run)
    assert exported.returncode == 3 and key in exported.stderr and key not in exported.stdout

    data = bytearray((run / "journal.sqlite").read_bytes())
    for page in range(4, len(data) // 4096 - 1):
        data[page * 4096 : page * 4096 + 64] = b"\xee" * 64
    (run / "journal.sqlite").write_bytes(data)
    bad = espalier("journal", "verify", run)
    assert bad.returncode == 3 and "Page " in bad.stderr and "Traceback" not in bad.stderr


def test_prune_spares_what_a_run_needs(run: Path, files: Path):
    records = stats(run)["groups"][0]["records"]
    said = espalier("journal", "prune", run)
    assert said.returncode == 2 and "--older-than, --model or --keep" in said.stderr
    refused = espalier("journal", "prune", run, "--model", "simulated")
    assert refused.returncode == 2 and f"needs {records:,} of the records" in refused.stderr
    refused = espalier("journal", "prune", run, "--model", "simulated", "--dry-run")
    assert refused.returncode == 2
    nothing = espalier("journal", "prune", run, "--older-than", "1")
    assert nothing.returncode == 0 and f"0 of {records:,}" in nothing.stdout
    nothing = json.loads(espalier("journal", "prune", run, "--older-than", "1", "--json").stdout)
    assert (nothing["records"], nothing["all"], nothing["dry_run"]) == (
        0,
        sum(group["records"] for group in stats(run)["groups"]),
        False,
    )
    assert stats(run)["groups"][0]["records"] == records

    other = ["expand", *inputs(files), "--limit", 2, "--seed", 8, "--out", run.parent / "other"]
    assert espalier(*other, "--journal", run / "journal.sqlite").returncode == 0
    both = stats(run)
    assert len(both["runs"]) == 2 and both["groups"][0]["records"] > records
    would = espalier("journal", "prune", run, "--keep", run, "--dry-run")
    assert f"{both['groups'][0]['records'] - records:,} of" in would.stdout and "would be" in would.stdout
    assert stats(run)["groups"] == both["groups"]
    assert espalier("journal", "prune", run, "--keep", run).returncode == 0
    left = stats(run)
    assert left["groups"][0]["records"] == records and left["bytes"] < both["bytes"]
    assert espalier("journal", "verify", run).returncode == 0
    before = contents(run)
    replay = ["expand", *inputs(files), "--limit", 4, "--out", run, "--replay"]
    assert espalier(*replay).returncode == 0
    assert contents(run) == before

    forced = espalier("journal", "prune", run, "--model", "simulated", "--force")
    assert forced.returncode == 0 and stats(run)["groups"] == []
    left = espalier(*replay)
    assert left.returncode == 1 and "4 questions are open" in left.stderr
    assert contents(run) == before, "a finished run keeps its files where the journal has no answer"
    assert json.loads((run / "summary.json").read_text())["open"] == 0


def test_prune_leaves_a_journal_alone_that_is_in_use(run: Path):
    with sqlite3.connect(run / "journal.sqlite") as db:
        db.execute("SELECT count(*) FROM record").fetchone()
        refused = espalier("journal", "prune", run, "--model", "simulated", "--force")
    db.close()
    assert refused.returncode == 3 and "another process has the journal open" in refused.stderr
    assert espalier("journal", "prune", run, "--model", "simulated", "--force").returncode == 0


def test_what_is_no_journal_is_refused_by_name(tmp_path: Path, run: Path):
    (tmp_path / "notes.txt").write_text("these are notes " * 50)
    for path, words in [(tmp_path / "notes.txt", "is not a journal"), (tmp_path / "no", "there is no journal")]:
        for command in ("stats", "export", "verify"):
            refused = espalier("journal", command, path)
            assert refused.returncode == 3 and words in refused.stderr and str(path) in refused.stderr
    tamper(run, "PRAGMA user_version = 1")
    refused = espalier("journal", "stats", run)
    assert refused.returncode == 3 and "schema version 1" in refused.stderr


def test_two_processes_share_a_journal_while_both_write(files: Path, tmp_path: Path):
    command = ["expand", *inputs(files), "--limit", 6]
    assert espalier(*command, "--out", tmp_path / "alone").returncode == 0
    shared = tmp_path / "shared.sqlite"
    command += ["--journal", shared, "--in-flight", 4]
    with start(*command, "--out", tmp_path / "a") as a, start(*command, "--out", tmp_path / "b") as b:
        for process in (a, b):
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
    for name in "ab":
        assert contents(tmp_path / name) == contents(tmp_path / "alone")
        assert not (tmp_path / name / "journal.sqlite").exists()
    assert stats(shared)["groups"][0]["records"] == stats(tmp_path / "alone")["groups"][0]["records"]
    assert stats(tmp_path / "a")["file"] == str(shared)
    assert espalier("journal", "verify", shared).returncode == 0


MODEL = ["--model", "URL/v1", "--model-name", "m"]
VALUES = ["--value-server", "URL/value", "--value-name", "v", "--set", "values=server"]
ENCODER = ["--encoder", "URL/v1", "--encoder-name", "e", "--set", "terminal_reward=embedding"]


@needs_http
@pytest.mark.parametrize(
    ("command", "asks"),
    [
        pytest.param(["expand", *MODEL], {"messages", "queries"}, id="model and retriever"),
        pytest.param(["answer", "--method", "decouple", *VALUES], {"queries", "texts"}, id="value server"),
        pytest.param(["answer", "--method", "airrag", *ENCODER], {"queries", "input"}, id="encoder"),
    ],
)
def test_a_replay_needs_no_server(files: Path, tmp_path: Path, command: list[str], asks: set[str]):
    def at(url: str) -> list[object]:
        retriever = ["--retriever", f"{url}/retrieve", "--retriever-name", "canned"]
        run = [*inputs(files)[:2], "--limit", 2, *retriever, "--out", tmp_path / "run"]
        return [*(word.replace("URL", url) for word in command), *run]

    with ModelServer(everything) as server:
        done = espalier(*at(server.url.removesuffix("/v1")))
        assert done.returncode == 0, done.stderr
        asked = server.requests[:]
    assert {key for request in asked for key in ("messages", "queries", "texts", "input") if key in request} == asks
    files_ = {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.jsonl") if path.name != "costs.jsonl"}
    for name in [*files_, "summary.json"]:
        (tmp_path / "run" / name).unlink()
    again = espalier(*at("http://replayed.invalid"), "--replay")
    assert again.returncode == 0, again.stderr
    assert {name: (tmp_path / "run" / name).read_bytes() for name in files_} == files_
    rescored = esp.rescore(tmp_path / "run", {}, out=tmp_path / "again")
    assert rescored.open == 0


def test_a_replay_without_a_journal_says_so(files: Path, tmp_path: Path):
    refused = espalier("expand", *inputs(files), "--out", tmp_path / "run", "--replay")
    assert refused.returncode == 3 and "there is no journal to replay" in refused.stderr
