"""`espalier journal`, journals that are shared, and replays with nobody to ask."""

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import espalier as esp
import pytest
from conftest import ModelServer, contents, espalier, good, inputs, needs_journal, refused, start
from killing import everything

pytestmark = needs_journal

SMALL = ["--limit", 4]


def test_what_a_run_leaves_may_be_read_by_its_owner_alone(files: Path, tmp_path: Path):
    before, runs = os.umask(0), tmp_path / "runs"
    for method in ("decex", "cot"):
        good("expand", "--method", method, *inputs(files), "--limit", 2, "--out", runs / method)
    good("report", runs / "decex", runs / "cot")
    espalier("batch", "prepare", *inputs(files), "--model-name", "m", "--limit", 1, "--out", runs / "batch")
    os.umask(before)
    left = {file.name: file for file in tmp_path.rglob("*") if file.is_file()}
    assert left.keys() >= {"journal.sqlite", "compared.html", "report.html", "sft.jsonl", "requests-0001.jsonl"}
    assert {name for name, file in left.items() if file.stat().st_mode & 0o777 != 0o600} <= {"config.json", "stops"}


def tamper(run: Path, sql: str) -> None:
    with sqlite3.connect(run / "journal.sqlite") as db:
        db.execute(sql)
    db.close()


def stats(journal: Path) -> dict:
    return json.loads(espalier("journal", journal, "--json").stdout)


def test_stats_count_records_and_tokens(run: Path, files: Path):
    before = stats(run)
    summary = json.loads((run / "summary.json").read_text())
    accounts = json.loads((run / "accounts.json").read_text())
    (group,) = before["groups"]
    assert (group["kind"], group["source"]) == ("generation", "simulated")
    assert group["records"] == accounts["model"]["paid_applied"] > 0
    assert 0 < group["requests"] <= group["records"]
    assert 0 < group["prompt_tokens"] <= summary["prompt_tokens"]
    assert group["milliseconds"]["p50"] <= group["milliseconds"]["p90"] <= group["milliseconds"]["p99"]
    (use,) = before["runs"]
    assert use["identity"] == json.loads((run / "run.json").read_text())["identity"]
    assert use["records"] == group["records"]

    (run / "summary.json").unlink()
    good("expand", *inputs(files), "--out", run, "--limit", 4)
    after = stats(run)["groups"][0]
    assert after["records"] == group["records"]
    shown = espalier("journal", run).stdout
    assert f"{group['records']:,}" in shown and "simulated" in shown and use["identity"] in shown


def test_the_lines_of_the_docs_for_sqlite_read_and_delete(run: Path):
    page = (Path(__file__).parents[2] / "docs/files.md").read_text(encoding="utf-8")
    read, check, delete = re.findall(r'^    sqlite3 journal.sqlite "(.*)"$', page, re.MULTILINE)
    with closing(sqlite3.connect(run / "journal.sqlite", isolation_level=None)) as db:
        db.text_factory = lambda text: text.decode(errors="replace")  # what follows the answer is no text
        asked = db.execute(read).fetchall()
        assert len(asked) == stats(run)["groups"][0]["records"]
        assert all("messages" in json.loads(request) and answer for _, request, answer in asked)
        assert {"rollout", "termination"} <= {purpose for purpose, _, _ in asked}
        assert db.execute(check).fetchone() == ("ok",)
        db.execute("UPDATE record SET created = 1 WHERE purpose = 'rollout'")
        if sqlite3.sqlite_version_info >= (3, 38):
            db.executescript(delete)
            assert {purpose for purpose, _, _ in db.execute(read)} == {purpose for purpose, _, _ in asked} - {"rollout"}


def test_what_is_no_journal_is_refused_by_name(tmp_path: Path, run: Path):
    (tmp_path / "notes.txt").write_text("these are notes " * 50)
    for path, words in [(tmp_path / "notes.txt", "is not a journal"), (tmp_path / "no", "there is no journal")]:
        said = refused(3, "journal", path)
        assert words in said and str(path) in said
    tamper(run, "PRAGMA user_version = 1")
    assert "schema version 1" in refused(3, "journal", run)


def test_two_processes_share_a_journal_while_both_write(files: Path, tmp_path: Path):
    command = ["expand", *inputs(files), "--limit", 6]
    good(*command, "--out", tmp_path / "alone")
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


MODEL = ["--model", "URL/v1", "--model-name", "m"]
VALUES = ["--values", "URL/value?name=v", "--set", "values=server"]
ENCODER = ["--encoder", "URL/v1?name=e", "--set", "terminal_reward=embedding"]


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
        retriever = ["--retriever", f"{url}/retrieve?name=canned"]
        run = [*inputs(files)[:2], "--limit", 2, *retriever, "--out", tmp_path / "run"]
        return [*(word.replace("URL", url) for word in command), *run]

    with ModelServer(everything) as server:
        good(*at(server.url.removesuffix("/v1")))
        asked = server.requests[:]
    assert {key for request in asked for key in ("messages", "queries", "texts", "input") if key in request} == asks
    files_ = {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.jsonl") if path.name != "costs.jsonl"}
    for name in [*files_, "summary.json"]:
        (tmp_path / "run" / name).unlink()
    good(*at("http://replayed.invalid"), "--replay")
    assert {name: (tmp_path / "run" / name).read_bytes() for name in files_} == files_
    rescored = esp.rescore(tmp_path / "run", {}, out=tmp_path / "again")
    assert rescored.open == 0


def test_a_replay_without_a_journal_says_so(files: Path, tmp_path: Path):
    said = refused(3, "expand", *inputs(files), "--out", tmp_path / "run", "--replay")
    assert "there is no journal to replay" in said
