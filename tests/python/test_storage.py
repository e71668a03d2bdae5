"""Copies of the shards that workers do on their nodes' own disks: what is copied when, and what is never read."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import ModelServer, contents, needs_http, needs_journal
from espalier.errors import Error, MissingPart
from espalier.runs import scratch
from espalier.runs.job import RunResult
from espalier.runs.leases import HeldLease, read_lease
from espalier.runs.scratch import copy_of, run_at_scratch
from espalier.runs.shards import read_shard
from espalier.runs.storage import Storage
from killing import everything, items

fsspec = pytest.importorskip("fsspec")
IN_FLIGHT = 4


@pytest.fixture(params=["folder", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    yield Storage(str(tmp_path / "storage") if request.param == "folder" else f"memory://{tmp_path.name}", "run/shards")
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def put(storage: Storage, tmp_path: Path) -> Callable[..., None]:
    """Makes a copy of a shard of two files."""

    def do(order: tuple[int, int], text: str, finished: bool = False) -> None:
        files = {name: tmp_path / name for name in ("run.json", "journal.sqlite")}
        for file in files.values():
            file.write_text(text)
        storage.put(1, order, files, tmp_path, finished)

    return do


def read(storage: Storage, folder: Path) -> str:
    """What a later attempt finds."""
    copy = storage.newest(1)
    assert copy is not None
    folder.mkdir(exist_ok=True)
    storage.fetch(copy, folder)
    texts = {(folder / name).read_text() for name in copy.files}
    assert len(texts) == 1
    return texts.pop()


def test_the_newest_copy_is_read_and_older_ones_go(storage: Storage, put: Callable[..., None], tmp_path: Path):
    assert storage.newest(1) is None and storage.finished() == set()
    for number in range(8, 12):
        put((1, number), f"copy {number}")
    assert read(storage, tmp_path / "read") == "copy 11"
    put((2, 1), "of another node")
    put((1, 12), "of a node that had lost the shard", finished=True)
    assert read(storage, tmp_path / "read") == "of another node" and storage.finished() == set()
    put((2, 2), "all", finished=True)
    assert read(storage, tmp_path / "read") == "all" and storage.finished() == {1}
    left = storage._files.ls(f"{storage._root}/shard-1", detail=False)
    assert sorted(path.rpartition("/")[2] for path in left) == ["2-2", "2-2.finished.json"]


@pytest.mark.parametrize("step", ["makedirs", "put_file", "pipe_file", "mv", "rm"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_copy_that_ends_at_any_step_is_whole_or_not_read(
    storage: Storage,
    put: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    number: int,
):
    put((1, 1), "before")
    files = type(storage._files)
    called, true = [], getattr(files, step)

    def killed(self: Any, *arguments: Any, **options: Any) -> Any:
        called.append(step)
        if len(called) == number:
            raise KeyboardInterrupt
        return true(self, *arguments, **options)

    whole = True
    with monkeypatch.context() as patch:
        patch.setattr(files, step, killed)
        try:
            put((1, 2), "after", finished=True)
        except KeyboardInterrupt:
            whole = step == "rm"
    assert read(storage, tmp_path / "read") == ("after" if whole else "before")
    assert storage.finished() == ({1} if whole else set())
    put((1, 3), "again")
    assert read(storage, tmp_path / "read") == "again"


def test_a_file_without_its_end_is_not_gone_on_with(storage: Storage, put: Callable[..., None], tmp_path: Path):
    put((1, 1), "text")
    storage._files.pipe_file(f"{storage._root}/shard-1/1-1/run.json", b"te")
    with pytest.raises(Error, match=r"shard-1: cannot be fetched into .*run.json has 2 bytes, not 4"):
        read(storage, tmp_path / "read")


def test_a_file_that_changes_while_it_is_copied_is_whole(
    storage: Storage, put: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    files = type(storage._files)
    true = files.put_file

    def changing(self: Any, source: str, *arguments: Any, **options: Any) -> None:
        true(self, source, *arguments, **options)
        Path(source).write_text("longer than before")

    monkeypatch.setattr(files, "put_file", changing)
    put((1, 1), "text")
    assert read(storage, tmp_path / "read") == "text"


def test_an_address_that_nothing_reads_is_named(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="option 'storage': Protocol not known: nothing"):
        Storage("nothing://a", "run")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingPart, match=r"option 'storage' needs a package that is missing: .*s3fs") as missing:
        Storage("s3://user:secret@bucket/run", "run")
    assert "secret" not in str(missing.value)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingPart, match=r"option 'storage' needs a package that is missing: .*fsspec"):
        Storage("folder", "run")


def test_a_journal_is_copied_while_it_is_written(tmp_path: Path):
    journal = tmp_path / "journal.sqlite"
    writer = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.execute("CREATE TABLE pairs (a INTEGER PRIMARY KEY, b)")
print(flush=True)
while True:
    db.execute("INSERT INTO pairs (b) SELECT count(*) + 1 FROM pairs")
"""
    sizes = []
    with subprocess.Popen([sys.executable, "-c", writer, journal], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for number in range(4):
            (tmp_path / f"{number}").mkdir()
            db = sqlite3.connect(copy_of(journal, tmp_path / f"{number}"))
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            sizes.append(db.execute("SELECT count(*) FROM pairs").fetchone()[0])
            assert db.execute("SELECT count(*) FROM pairs WHERE a = b").fetchone()[0] == sizes[-1]
            db.close()
        process.kill()
    assert sizes == sorted(set(sizes))
    journal = tmp_path / "0/journal.sqlite"
    journal.write_text("this is no journal")
    with pytest.raises(Error, match=rf"{journal}: cannot be copied into {tmp_path}: sqlite3.DatabaseError: "):
        copy_of(journal, tmp_path)


@pytest.fixture(autouse=True)
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The node's own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on this is another node."""
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")


class Shard:
    """Half of a run over a server, which notes what it is asked."""

    def __init__(self, files: Path, folder: Path, server: ModelServer) -> None:
        self.out, self.lease = folder / "out/shard-1", folder / "out/shard-1.lease"
        self.out.parent.mkdir()
        self.server = server
        self.asked: Counter[str] = Counter()
        self.meet: Callable[[int], None] = lambda number: None
        """Called with the number of each request to the model: all wait meanwhile."""
        self._lock = threading.Lock()
        server.respond = self._respond
        self.settings = {
            "questions": str(files / "questions.jsonl"),
            "retriever": server.url.replace("/v1", "/retrieve"),
            "retriever_name": "canned",
            "model": server.url,
            "model_name": "m",
            "constrain": "off",
            "in_flight": IN_FLIGHT,
            "limit": 6,
            "set": {"n": 2},
        }

    def _respond(self, request: dict[str, Any]) -> tuple[int, bytes]:
        if "messages" in request:
            with self._lock:
                self.asked.update(items(request))
                self.meet(sum(self.asked.values()))
        return everything(request)

    @property
    def again(self) -> int:
        return sum(self.asked.values()) - len(self.asked)

    def do(self, storage: Storage, attempt: int = 1, **more: Any) -> RunResult:
        with HeldLease(self.lease, attempt) as held:
            settings = {**self.settings, "out": str(self.out), "shard": "1/2", **more}
            return run_at_scratch(storage, "expand", settings, held, attempt)

    def start(self, address: Path, every: float) -> subprocess.Popen[bytes]:
        """A worker of its own, whose first attempt it is."""
        program = f"""
import signal, sys
from pathlib import Path
from espalier.runs import scratch
from espalier.runs.leases import HeldLease
from espalier.runs.storage import Storage
scratch.EVERY, scratch.REST = {every}, 0
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Ray does
settings = {self.settings} | {{"out": {str(self.out)!r}, "shard": "1/2"}}
with HeldLease(Path({str(self.lease)!r}), 1) as held:
    scratch.run_at_scratch(Storage({str(address)!r}, "shards"), "expand", settings, held, 1)
"""
        return subprocess.Popen([sys.executable, "-c", program])


@pytest.fixture
def shard(files: Path, tmp_path: Path, server: ModelServer) -> Shard:
    return Shard(files, tmp_path, server)


@pytest.fixture
def whole(shard: Shard, tmp_path: Path) -> tuple[dict[str, bytes], int]:
    """The files of the shard that is done in its own folder, and how many requests that takes."""
    esp.expand(**shard.settings, out=tmp_path / "whole", shard="1/2")
    asked = sum(shard.asked.values())
    shard.asked.clear()
    return contents(tmp_path / "whole"), asked


def brought(storage: Storage, folder: Path) -> dict[str, bytes]:
    """The files of the finished shard that a merge reads."""
    shard = read_shard(storage.bring(1, folder))
    assert shard.part == 1 and shard.journal.exists()
    return contents(shard.folder)


@needs_http
@needs_journal
def test_a_shard_is_done_on_the_nodes_own_disk_and_copied(
    storage: Storage, shard: Shard, whole: tuple[dict[str, bytes], int], disk: Path
):
    at: list[tuple[int, ...]] = []
    shard.meet = lambda number: at.append(storage.newest(1).order if number == 1 else ())  # type: ignore[union-attr]
    assert shard.do(storage).open == 0
    assert at[0] == (1, 1), "the storage was tried before anything was paid"
    assert brought(storage, shard.out) == whole[0] and storage.finished() == {1}
    assert list(disk.iterdir()) == []

    newest = storage.newest(1)
    assert shard.do(storage, 2).recognised and storage.newest(1) == newest
    assert sum(shard.asked.values()) == whole[1]
    with pytest.raises(ValueError, match=r"another seed \(1, now 7\)"):
        shard.do(storage, 3, seed=7)
    assert brought(storage, shard.out) == whole[0] and list(disk.iterdir()) == []


@needs_http
@needs_journal
def test_the_folder_of_the_run_has_the_record_alone(storage: Storage, shard: Shard, tmp_path: Path):
    shard.do(storage)
    assert [path.name for path in shard.out.iterdir()] == ["run.json"]
    assert json.loads((shard.out / "run.json").read_text())["shard"] == "1/2"


@needs_http
@needs_journal
@pytest.mark.parametrize("end", ["lost", "terminated", "killed"])
def test_who_goes_on_pays_what_came_since_the_last_copy(
    shard: Shard,
    whole: tuple[dict[str, bytes], int],
    tmp_path: Path,
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
):
    """A lost node leaves the copies, a terminated worker makes one, and a killed worker's node has all it paid for."""
    storage = Storage(str(tmp_path / "storage"), "shards")
    number = whole[1] // 2

    def meet(asked: int) -> None:
        if asked != number:
            return
        if end == "lost":  # once all that was answered is copied
            before = None
            while before != (before := order()):
                time.sleep(1)
        process.send_signal(signal.SIGTERM if end == "terminated" else signal.SIGKILL)
        over.append(order())

    def order() -> tuple[int, int]:
        newest = storage.newest(1)
        assert newest is not None
        return newest.order

    over: list[tuple[int, int]] = []
    shard.meet = meet
    with shard.start(tmp_path / "storage", 0.05 if end == "lost" else 60) as process:
        process.wait(timeout=60)
    assert over and process.returncode == (1 if end == "terminated" else -signal.SIGKILL)
    assert (order() > over[0]) == (end == "terminated")
    assert len(list(disk.iterdir())) == (end != "terminated")
    if end != "killed":
        elsewhere(monkeypatch)
    assert shard.do(storage, 2).open == 0
    assert brought(storage, shard.out) == whole[0] and order()[0] == 2
    assert shard.again <= IN_FLIGHT
    assert len(list(disk.iterdir())) == (end == "lost")


def failing(monkeypatch: pytest.MonkeyPatch, storage: Storage) -> None:
    """No more copies can be made."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(storage._files), "put_file", full)


@needs_http
@needs_journal
def test_a_storage_that_cannot_be_written_costs_nothing(
    storage: Storage, shard: Shard, disk: Path, monkeypatch: pytest.MonkeyPatch
):
    failing(monkeypatch, storage)
    said = rf"{storage.url}/shard-1: cannot be written \(option 'storage'\): .*No space left on device"
    with pytest.raises(Error, match=said):
        shard.do(storage)
    assert not shard.asked and not shard.out.exists()


@needs_http
@needs_journal
def test_a_storage_that_fails_for_long_ends_the_shard_which_goes_on_where_it_was(
    storage: Storage,
    shard: Shard,
    whole: tuple[dict[str, bytes], int],
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(scratch, "EVERY", 0.02)
    monkeypatch.setattr(scratch, "REST", 0)
    monkeypatch.setattr(scratch, "FAILURES", 2)

    def meet(number: int) -> None:
        if number == 9:
            failing(patch, storage)
        if number > 9:
            time.sleep(0.2)

    shard.meet = meet
    said = r"shard-1: cannot be written \(option 'storage'\)"
    with monkeypatch.context() as patch, pytest.raises(Error, match=said):
        shard.do(storage)
    assert 9 < sum(shard.asked.values()) < whole[1] and re.search(said, read_lease(shard.lease).trouble)
    shard.meet = lambda number: None
    assert len(list(disk.iterdir())) == 1
    assert shard.do(storage, 2).open == 0
    assert brought(storage, shard.out) == whole[0] and list(disk.iterdir()) == []
    assert shard.again <= IN_FLIGHT


@needs_http
@needs_journal
def test_a_finished_shard_that_cannot_be_copied_says_where_it_is(
    storage: Storage, shard: Shard, whole: tuple[dict[str, bytes], int], disk: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        shard.meet = lambda number: failing(patch, storage)
        with pytest.raises(Error, match=rf"option 'storage'.*; it stays in {disk}/espalier-shard-1-\w+ on "):
            shard.do(storage)
    asked = sum(shard.asked.values())
    assert shard.do(storage, 2).recognised and sum(shard.asked.values()) == asked
    assert brought(storage, shard.out) == whole[0] and list(disk.iterdir()) == []


@needs_http
@needs_journal
def test_a_worker_that_is_terminated_at_its_last_copy_ends_after_it(
    storage: Storage, shard: Shard, whole: tuple[dict[str, bytes], int], disk: Path, monkeypatch: pytest.MonkeyPatch
):
    files = type(storage._files)
    true = files.put_file

    def put_file(self: Any, source: str, *arguments: Any, **options: Any) -> None:
        if source.endswith("trees.jsonl"):
            signal.raise_signal(signal.SIGTERM)
        true(self, source, *arguments, **options)

    monkeypatch.setattr(files, "put_file", put_file)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with pytest.raises(SystemExit):
            shard.do(storage)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert storage.finished() == {1} and brought(storage, shard.out) == whole[0] and list(disk.iterdir()) == []


@needs_http
@needs_journal
def test_a_storage_that_cannot_be_fetched_from_costs_nothing(
    storage: Storage, shard: Shard, disk: Path, monkeypatch: pytest.MonkeyPatch
):
    shard.do(storage)
    asked = sum(shard.asked.values())

    def unreachable(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(type(storage._files), "get_file", unreachable)
    said = rf"shard-1: cannot be fetched into {disk}/espalier-shard-1-\w+ \(option 'storage'\): ConnectionError"
    with pytest.raises(Error, match=said):
        shard.do(storage, 2)
    assert list(disk.iterdir()) == [] and sum(shard.asked.values()) == asked
