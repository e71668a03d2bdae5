"""Runs that are stopped: by Ctrl-C, by SIGKILL, by a server that fails."""

from __future__ import annotations

import itertools
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import espalier as esp
import pytest
from conftest import (
    ModelServer,
    completion,
    contents,
    espalier,
    good,
    inputs,
    needs_journal,
    rows,
    sensible,
    start,
)
from killing import Counted, kill_until_done

pytestmark = needs_journal


def kept(folder: Path) -> int:
    """Answers in the journal of a run that goes on."""
    try:
        with closing(sqlite3.connect(f"file:{folder / 'journal.sqlite'}?mode=ro", uri=True)) as journal:
            return int(journal.execute("SELECT count(*) FROM record").fetchone()[0])
    except sqlite3.OperationalError:  # it is not there yet
        return 0


def test_a_killed_run_ends_in_the_same_bytes_and_pays_again_only_for_what_was_in_flight(files: Path, tmp_path: Path):
    whole, counted = Counted(), Counted()
    with whole.server, counted.server:
        command = ["expand", *inputs(files)[:2], "--limit", 6, "--model-name", "m", "--in-flight", 8]

        def into(out: str, server: ModelServer) -> list[object]:
            retriever = server.url.replace("/v1", "/retrieve?name=canned")
            return [*command, "--retriever", retriever, "--out", tmp_path / out]

        good(*into("whole", whole.server), "--model", whole.server.url)
        every = whole.asked.total() // 14
        kill_until_done(into("killed", counted.server), counted, kills=8, every=every)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert whole.again == 0 and counted.again <= 8 * 2 * 8  # eight at the model, eight at the retriever
    with closing(sqlite3.connect(tmp_path / "killed" / "journal.sqlite")) as journal:
        assert journal.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_ctrl_c_ends_a_waiting_run_and_the_next_goes_on(files: Path, tmp_path: Path):
    numbers = itertools.count()

    def hangs_after_30(request):
        if next(numbers) >= 30:
            flaky.released.wait(300)
        return completion(sensible(request))

    command = ["expand", *inputs(files), "--limit", 4, "--model-name", "m"]
    with ModelServer(lambda request: completion(sensible(request))) as steady:
        good(*command, "--model", steady.url, "--out", tmp_path / "whole")
        asked = len(steady.requests)
        with ModelServer(hangs_after_30) as flaky:
            with start(*command, "--model", flaky.url, "--out", tmp_path / "stopped") as process:
                while kept(tmp_path / "stopped") < 30 and process.poll() is None:
                    time.sleep(0.01)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=120)  # the server would hold it for 300 s
            assert process.returncode == 130 and "interrupted" in err and "Traceback" not in err
        assert not (tmp_path / "stopped" / "trees.jsonl").exists()
        steady.requests.clear()
        good(*command, "--model", steady.url, "--out", tmp_path / "stopped")
        assert len(steady.requests) == asked - 30  # what had arrived is not asked for again
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


def test_ctrl_c_ends_a_computing_run(tmp_path: Path):
    esp.write_world(tmp_path / "world", passages=2000, questions=2000, seed=9)
    with start("expand", *inputs(tmp_path / "world"), "--out", tmp_path / "out", "--set", "n=64") as process:
        while kept(tmp_path / "out") < 500 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "interrupted" in err and "Traceback" not in err
    assert not (tmp_path / "out" / "summary.json").exists()


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param((500, b"oops"), id="server error"),
        pytest.param((200, b"<html><body>Not here</body></html>"), id="HTML for JSON"),
        pytest.param((200, b"\x00\xff garbage"), id="garbage"),
        pytest.param((200, b'{"choices": []}'), id="no choices"),
        pytest.param((401, b'{"error": {"message": "bad key"}}'), id="refused key"),
    ],
)
def test_a_failing_server_leaves_questions_open_and_the_next_run_goes_on(files: Path, tmp_path: Path, bad):
    lost = [row["question"] for row in rows(files / "questions.jsonl")[:2]]

    def fails_for_lost(request):
        text = request["messages"][-1]["content"]
        return bad if any(question in text for question in lost) else completion(sensible(request))

    command = [
        "expand",
        *inputs(files),
        "--limit",
        4,
        "--model-name",
        "m",
        "--attempts",
        2,
        "--out",
        tmp_path,
    ]
    with ModelServer(fails_for_lost) as server:
        first = espalier(*command, "--model", server.url)
    assert first.returncode == 1 and "2 questions are open" in first.stderr
    answers = rows(tmp_path / "answers.jsonl")
    assert [row["status"] for row in answers] == ["open", "open", "done", "done"]
    assert answers[0]["error"] and answers[0]["answer"] is None and answers[0]["em"] is None
    with ModelServer(lambda request: completion(sensible(request))) as server:
        second = espalier(*command, "--model", server.url)
    assert second.returncode == 0, second.stderr
    assert [row["status"] for row in rows(tmp_path / "answers.jsonl")] == ["done"] * 4


def test_the_key_goes_to_the_server_and_nowhere_else(files: Path, tmp_path: Path, server: ModelServer, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    done = good("expand", *inputs(files), "--limit", 1, "--model", server.url, "--model-name", "m", "--out", tmp_path)
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert not [path for path in tmp_path.iterdir() if b"sk-very-secret" in path.read_bytes()]
