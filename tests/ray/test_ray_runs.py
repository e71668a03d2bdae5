"""Runs that tasks of Ray do: the bytes of one run, whoever is lost, and nothing that was finished is paid again."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import espalier as esp
import pytest
from cluster import IN_FLIGHT, command, made, workers
from conftest import contents, expanded, in_own_process, inputs, start
from espalier.runs import ray_run
from killing import Counted
from ray.cluster_utils import Cluster

NODES = 2
"""With a place for a task each. One more is lost in the last test."""
WHOLE = ("report.html", "trees.jsonl", "answers.jsonl", "sft.jsonl", "dpo.jsonl")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    esp.write_world(folder, passages=300, questions=12, seed=5)
    return folder


@pytest.fixture(scope="session")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of the nodes."""
    folder = tmp_path_factory.mktemp("disk")
    (folder / "ray").mkdir()  # Ray does not make it
    return folder


@pytest.fixture(scope="session")
def cluster(disk: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(disk))
        running = made(tmp_path_factory.mktemp("ray"), NODES)
        yield running
        running.shutdown()


@pytest.fixture
def counted() -> Iterator[Counted]:
    made = Counted(model_alone=True)
    with made.server:
        yield made


class Killer:
    """Kills workers that are at a shard, at numbers of requests. Where none lives, one more request has to come."""

    def __init__(self, counted: Counted) -> None:
        self.counted = counted
        self.killed: set[int] = set()

    def at(self, number: int) -> None:
        self.counted.at(number, self._kill)

    def _kill(self) -> None:
        for worker in set(workers()) - self.killed:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                return self.killed.add(worker)
        self.at(1)


@pytest.fixture
def killer(counted: Counted) -> Killer:
    return Killer(counted)


@pytest.fixture(scope="session")
def whole(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """The files of the run that one process does, and its number of requests."""
    one, out = Counted(model_alone=True), tmp_path_factory.mktemp("whole")
    with one.server:
        done = in_own_process(*command(files, one.server), "--out", out)
    assert done.returncode == 0, done.stderr
    return same(out), one.asked.total()


def same(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in WHOLE}


def spread(cluster: Cluster, out: Path, *more: object) -> list[object]:
    return ["--out", out, "--ray", cluster.address, *more]


@pytest.mark.parametrize("task", ["expand", "answer"])
def test_a_run_that_is_spread_is_the_bytes_of_one_run(cluster: Cluster, files: Path, tmp_path: Path, task: str):
    for out, more in (("whole", []), ("spread", spread(cluster, tmp_path / "spread", "--shards", 5, "--json"))):
        done = in_own_process(task, *inputs(files), "--constrain", "off", "--out", tmp_path / out, *more)
        assert done.returncode == 0, done.stderr
    names = WHOLE if task == "expand" else WHOLE[:3]
    for name in names:
        assert (tmp_path / "spread" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    configs = [json.loads((tmp_path / out / "config.json").read_text()) | {"out": ""} for out in ("whole", "spread")]
    assert configs[0] == configs[1]
    again = in_own_process(task, *inputs(files), "--constrain", "off", *spread(cluster, tmp_path / "spread"))
    assert again.returncode == 0, again.stderr


def test_workers_that_are_killed_change_nothing(cluster, files, counted, killer, whole, tmp_path):
    for number in range(1, 5):
        killer.at(number * whole[1] // 6)
    done = in_own_process(*command(files, counted.server), *spread(cluster, tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert len(killer.killed) == 4 and same(tmp_path / "out") == whole[0]
    assert counted.again <= 4 * IN_FLIGHT


def test_shards_on_the_nodes_own_disks_are_the_bytes_of_one_run_whoever_is_lost(
    cluster: Cluster, files: Path, counted: Counted, killer: Killer, whole: tuple[dict[str, bytes], int], tmp_path: Path
):
    out, kept = tmp_path / "out", tmp_path / "kept"
    line = [*command(files, counted.server), *spread(cluster, out, "--shards-to", kept.as_uri())]
    for number in (1, 2):
        killer.at(number * whole[1] // 5)
    with start(*line) as driver:
        counted.at(3 * whole[1] // 5, driver.kill)
        driver.communicate(timeout=120)
    assert driver.returncode == -signal.SIGKILL
    done = in_own_process(*line)
    assert done.returncode == 0 and same(out) == whole[0], done.stderr
    assert len(killer.killed) == 2
    copies = [copy.name.rpartition("-")[0] for copy in kept.glob("*.whole")]
    assert set(copies) == {f"shard-{part}" for part in range(1, 4 * NODES + 1)}
    asked = counted.asked.total()
    shutil.rmtree(out)
    assert in_own_process(*line).returncode == 0 and counted.asked.total() == asked
    assert same(out) == whole[0]


def test_an_evaluation_is_that_of_one_machine(cluster, files, counted, killer, tmp_path):
    line = ["eval", "--methods", "direct,decex", *command(files, counted.server)[1:]]
    line[line.index("n=2")] = "decex.n=2"
    many = [*line, "--out", tmp_path / "many", "--ray", cluster.address]
    killer.at(10)
    assert in_own_process(*many).returncode == 0
    assert len(killer.killed) == 1 and counted.again <= IN_FLIGHT
    assert in_own_process(*line, "--out", tmp_path / "one").returncode == 0
    results = [json.loads((tmp_path / out / "eval.json").read_text()) for out in ("one", "many")]
    for run in [run for result in results for run in result["runs"]]:
        del run["seconds"], run["run_seconds"]
    assert results[0] == results[1]


def test_a_driver_that_is_killed_goes_on_where_it_was(cluster, files, counted, whole, tmp_path):
    line = [*command(files, counted.server), *spread(cluster, tmp_path / "out")]
    for _ in range(2):
        with start(*line) as driver:
            counted.at(whole[1] // 3, driver.kill)
            driver.communicate(timeout=120)
        assert driver.returncode == -signal.SIGKILL
    done = in_own_process(*line)
    assert done.returncode == 0, done.stderr
    assert same(tmp_path / "out") == whole[0]
    assert counted.again <= 2 * NODES * IN_FLIGHT
    asked = counted.asked.total()
    assert in_own_process(*line).returncode == 0 and counted.asked.total() == asked


def test_a_second_driver_and_another_number_of_shards_are_refused(cluster, files, counted, whole, tmp_path):
    out, refused = tmp_path / "out", []
    line = command(files, counted.server)
    counted.at(whole[1] // 2, lambda: refused.append(in_own_process(*line, *spread(cluster, out))))
    done = in_own_process(*line, *spread(cluster, out, "--shards", 3))
    assert done.returncode == 0, done.stderr
    assert [second.returncode for second in refused] == [3]
    assert f"{out}: this folder is in use: process" in refused[0].stderr
    assert "espalier expand --ray" in refused[0].stderr

    (out / "run.json").unlink()
    for name in WHOLE:
        (out / name).unlink()
    other = in_own_process(*line, *spread(cluster, out, "--shards", 4))
    assert other.returncode == 3 and f"{out}/shards: holds a run in 3 shards, not 4" in other.stderr
    asked = counted.asked.total()
    assert in_own_process(*line, *spread(cluster, out)).returncode == 0
    assert same(out) == whole[0] and counted.asked.total() == asked


def test_a_folder_that_is_no_shard_leaves_the_others_finished(cluster, files, counted, whole, tmp_path):
    out = tmp_path / "out"
    (out / "shards").mkdir(parents=True)
    (out / "shards/shard-2").write_text("no folder")
    expanded(files, out / "shards/shard-3", limit=2, set={"n": 1})
    line = [*command(files, counted.server), *spread(cluster, out, "--shards", 3)]
    done = in_own_process(*line)
    assert done.returncode == 1 and "3 of 3 shards are not finished" in done.stderr, done.stderr
    assert not counted.asked, "a folder was begun under other options: nothing new is begun"

    shutil.rmtree(out / "shards/shard-3")
    done = in_own_process(*line)
    assert done.returncode == 1 and "1 of 3 shards are not finished" in done.stderr, done.stderr
    assert f"the first: {out}/shards/shard-2" in done.stderr
    assert not (out / "run.json").exists()

    (out / "shards/shard-2").unlink()
    assert in_own_process(*line).returncode == 0
    assert same(out) == whole[0] and counted.again == 0


def test_other_options_are_refused_before_anything_is_paid(cluster, files, counted, whole, tmp_path):
    out = tmp_path / "out"
    line = [*command(files, counted.server), *spread(cluster, out)]
    with start(*line) as driver:
        counted.at(whole[1] // 2, driver.kill)
        driver.communicate(timeout=120)
    counted.server.settle()
    asked = counted.asked.total()
    other = in_own_process(*line, "--seed", 7)
    assert other.returncode in (1, 2) and "another seed (1, now 7)" in other.stderr, other.stderr
    assert counted.asked.total() == asked
    assert in_own_process(*line).returncode == 0 and contents(out)["trees.jsonl"] == whole[0]["trees.jsonl"]


def test_a_cluster_that_is_not_there_is_named(files: Path, tmp_path: Path):
    done = in_own_process("expand", *inputs(files), "--out", tmp_path / "out", "--ray", "127.0.0.1:1")
    assert done.returncode == 1 and done.stderr.startswith("espalier: option 'ray': 127.0.0.1:1: "), done.stderr


def test_what_a_node_lacks_is_said(cluster: Cluster, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ray_run._core, "build_info", lambda: {"version": "9.9"})
    data = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    with pytest.raises(esp.errors.Error, match=r"shards are not finished.* has Espalier .*, not 9\.9"):
        esp.ray_run("expand", address=cluster.address, **data, constrain="off", out=tmp_path / "out")


def test_a_node_that_is_lost_changes_nothing(cluster, files, counted, whole, tmp_path):
    lost = cluster.list_all_nodes()[-1]
    counted.at(whole[1] // 2, lambda: cluster.remove_node(lost, allow_graceful=False))
    more = ["--out", tmp_path / "out", "--ray", cluster.address, "--shards", 6]
    done = in_own_process(*command(files, counted.server), *more)
    assert done.returncode == 0, done.stderr
    assert same(tmp_path / "out") == whole[0]
    assert counted.again <= IN_FLIGHT
