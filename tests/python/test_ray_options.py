"""What a run by workers of Ray decides without Ray: options, who gets which shard, leases."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import espalier, inputs
from espalier.cli import main
from espalier.runs import leases
from espalier.runs.leases import HeldLease, Lease, read_lease, wait_for
from espalier.runs.ray_units import Queue, Unit, read_units, settled
from espalier.runs.ray_worker import Outcome


@pytest.mark.parametrize(
    ("task", "chosen", "said"),
    [
        ("rescore", {}, "'rescore' cannot be spread by Ray, allowed: expand, answer, annotate, eval"),
        ("eval", {}, "option 'methods' is missing"),
        ("expand", {"shard": "1/2"}, "option 'shard' is not allowed with Ray: each worker sets it"),
        ("expand", {"overwrite": True}, "option 'overwrite' is not allowed with Ray: name another folder"),
        ("answer", {"journal_file": "j"}, "option 'journal_file' is not allowed with Ray"),
        ("expand", {"workers": 0}, "option 'workers' is 0, allowed: 1 or more"),
        ("expand", {"shards": -1}, "option 'shards' is -1, allowed: 1 or more"),
        ("expand", {"gpus": -0.5}, "option 'gpus' is -0.5, allowed: 0 or more"),
        ("expand", {"method": "dec"}, "method"),
    ],
)
def test_what_cannot_be_spread_is_refused(files: Path, tmp_path: Path, task: str, chosen: dict[str, Any], said: str):
    data = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    with pytest.raises(ValueError, match=said):
        esp.ray_run(task, **data, out=tmp_path / "out", **chosen)
    assert not (tmp_path / "out").exists()


def test_ray_that_is_not_there_is_named(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["expand", *inputs(files)[:4], "--out", str(tmp_path / "out"), "--ray", "local"]) == 2
    assert capsys.readouterr().err.startswith("espalier: --ray needs Ray (pip install 'espalier-rag[ray]'): ")
    assert list((tmp_path / "out").iterdir()) == []


def test_options_of_ray_need_ray_and_a_dry_run_does_not(files: Path, tmp_path: Path):
    line = ["expand", *inputs(files), "--out", tmp_path / "out"]
    for option in ("--workers", "--shards", "--gpus", "--storage"):
        done = espalier(*line, option, 2)
        assert done.returncode == 2 and done.stderr == f"espalier: option '{option}' needs --ray\n"
    done = espalier(*line, "--ray", "nowhere:1", "--dry-run")
    assert done.returncode == 0 and "12 questions" in done.stdout, done.stderr


@pytest.mark.parametrize("line", [["annotate", "run", "--with", "prm"], ["eval", "--methods", "decex"]])
def test_workers_have_journals_of_their_own(line: list[str], files: Path, capsys: pytest.CaptureFixture[str]):
    more = ["--out", "out", *inputs(files)] if line[0] == "eval" else []
    assert main([*line, *more, "--ray", "local", "--journal", "j"]) == 2
    assert "option 'journal_file' is not allowed with Ray: each shard has a journal" in capsys.readouterr().err


def test_another_number_of_shards_is_refused_before_anything_begins(files: Path, tmp_path: Path):
    work = tmp_path / "out" / "shards"
    assert settled(work, 8) is None
    work.mkdir(parents=True)
    read_units(work, 8)
    assert settled(work, None) == settled(work, 8) == 8
    done = espalier("expand", *inputs(files), "--out", tmp_path / "out", "--ray", "127.0.0.1:1", "--shards", 9)
    assert done.returncode == 3 and f"{work}: holds a run in 8 shards, not 9 (option 'shards')" in done.stderr


def unit(part: int, *, begun: bool = False, finished: bool = False) -> Unit:
    return Unit(part, Path(f"shard-{part}"), begun, finished, Lease())


def test_a_shard_that_failed_goes_to_another_node_once():
    queue = Queue([unit(1), unit(2)], False)
    first = queue.take("a", True)
    assert first is not None and first.part == 1
    first.end(Outcome(error="no space"), "a")
    queue.put(first)
    second = queue.take("a", True)
    assert second is not None and second.part == 2
    assert queue.take("a", True) is None, "it waits for another node"
    assert queue.take("b", True) is first
    first.end(Outcome(error="no space"), "b")
    queue.put(first)
    assert not len(queue) and first.given_up and first.why == "no space"

    second.end(Outcome(error="no space"), "a")
    queue.put(second)
    assert queue.take("a", False) is second, "there is no other node"
    second.end(Outcome(open=3, why_open="refused"), "a")
    assert not second.finished and second.why == "refused"
    second.end(Outcome(), "a")
    assert second.finished and not second.why


def test_a_shard_whose_workers_are_lost_is_given_up_at_last():
    queue, one = Queue([], False), unit(1)
    while not one.given_up:
        one.lost += 1
        queue.put(one)
    assert one.lost == 10 and len(queue) == 9


@pytest.mark.parametrize("finished", [False, True])
def test_nothing_new_is_begun_before_a_shard_has_accepted_the_options(finished: bool):
    queue = Queue([unit(1), unit(2, begun=True, finished=finished), unit(3), unit(4, begun=True)], False)
    taken = [queue.take("a", False) for _ in range(3)]
    assert [one.part for one in taken if one] == ([2] if finished else [2, 4])
    queue.accept()
    assert len(queue.units) == (3 if finished else 2)


@pytest.mark.parametrize("begun", [False, True])
def test_one_shard_goes_ahead_of_the_others(begun: bool):
    queue = Queue([unit(1, begun=begun), unit(2, begun=begun)], True)
    first = queue.take("a", False)
    assert first is not None and first.part == 1 and queue.take("a", False) is None
    first.lost = 10
    queue.put(first)
    second = queue.take("a", False)
    assert first.given_up and second is not None and second.part == 2
    queue.put(second)
    queue.accept()
    assert queue.units == [second]


def test_shards_of_a_folder_are_known_again(files: Path, tmp_path: Path):
    data = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    esp.answer(**data, out=tmp_path / "shard-2", shard="2/3")
    (tmp_path / "shard-3").mkdir()
    (tmp_path / "shard-3/run.json").write_text("{")
    one, two, three = read_units(tmp_path, 3)
    assert [(one.begun, one.finished) for one in (one, two, three)] == [(False, False), (True, True), (True, False)]
    assert two.at.questions_done == len((tmp_path / "shard-2/answers.jsonl").read_text().splitlines()) > 0


def test_a_lease_tells_who_works_and_how_far_it_is(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(leases, "BEAT", 0.01)
    file = tmp_path / "shard-1.lease"
    assert read_lease(file) == Lease()
    data = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    with HeldLease(file, 3) as held:
        begun = read_lease(file)
        esp.answer(**data, out=tmp_path / "out", progress=held)
        while read_lease(file).beat < begun.beat + 3:
            pass
    ended = read_lease(file)
    assert begun.owner.startswith("process ") and (begun.attempt, begun.questions) == (3, 0)
    assert (ended.attempt, ended.questions, ended.questions_done) == (3, 12, 12) and ended.calls > 0
    file.write_text("{")
    assert read_lease(file) == Lease()


def test_a_worker_whose_shard_was_given_to_another_one_ends(tmp_path: Path):
    file = tmp_path / "shard-1.lease"
    program = f"""
import json, time
from pathlib import Path
from espalier.runs import leases
leases.BEAT = 0.01
file = Path({str(file)!r})
with leases.HeldLease(file, 1):
    while True:  # as the other one's heartbeat
        leases.write_text(file, json.dumps({{"owner": "another", "attempt": 2}}))
        time.sleep(0.1)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=50, check=False)
    assert done.returncode == 1


def test_a_folder_that_somebody_works_in_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(leases, "TERM", 0.5)
    wait_for(tmp_path)
    with (tmp_path / "run.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        monkeypatch.setattr(leases.time, "sleep", lambda seconds: fcntl.flock(file, fcntl.LOCK_UN))
        wait_for(tmp_path)
