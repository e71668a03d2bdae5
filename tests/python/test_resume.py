"""Runs that are stopped: by Ctrl-C, by SIGKILL, by a server that fails."""

import itertools
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import espalier as esp
from conftest import ModelServer, contents, good, inputs, needs_journal, sensibly, start
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
        return sensibly(request)

    command = ["expand", *inputs(files), "--limit", 4, "--model-name", "m"]
    with ModelServer() as steady:
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


def test_the_key_goes_to_the_server_and_nowhere_else(files: Path, tmp_path: Path, server: ModelServer, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    done = good("expand", *inputs(files), "--limit", 1, "--model", server.url, "--model-name", "m", "--out", tmp_path)
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert not [path for path in tmp_path.iterdir() if b"sk-very-secret" in path.read_bytes()]
