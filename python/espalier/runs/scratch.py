"""A shard that a worker does on its node's own disk. The storage gets copies, so that another node can go on."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Event, Lock, Thread
from typing import Any

from .._core import Progress
from ..errors import Error
from ..io.files import read_object, write_text
from .job import RunResult, run_job
from .leases import HeldLease, wait_for
from .storage import Copy, Storage

EVERY = 60.0
"""Seconds between two copies, at least."""
REST = 10
"""Times what a copy took, until the next one: the journals of many workers may be much for a storage."""
FAILURES = 5
"""A shard ends after so many copies in succession that failed: what it pays for could be lost."""
JOURNAL = "journal.sqlite"
UNFINISHED = ("run.json", "stops", JOURNAL)
"""The files that a run goes on from."""
BACKUP = "import sqlite3, sys; own, copy = map(sqlite3.connect, sys.argv[1:]); own.backup(copy); copy.close()"


def copy_of(journal: Path, folder: Path) -> Path:
    """Writes the journal of a run that may be under way, as it is at one moment, into another folder. Raises Error.

    Another process does it: where Python and Espalier each have an SQLite of their own, one would take away the locks
    of the other in this process.
    """
    copy = folder / journal.name
    done = subprocess.run([sys.executable, "-c", BACKUP, journal, copy], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = done.stderr.splitlines() or [f"exit status {done.returncode}"]
        raise Error(f"{journal}: cannot be copied into {folder}: {why[-1]}")
    return copy


@contextmanager
def undisturbed() -> Iterator[None]:
    """Puts a SIGTERM off until the end of the block. For the main thread, in which Ray calls its workers."""
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        for number in came[:1]:
            signal.raise_signal(number)


class Scratch:
    """The folder of a shard, from the newest copy in the storage to the next ones: every minute, and at the end.

    Where the newest copy came from this machine and its folder is still here, that one is gone on with. The folder is
    removed at the end, unless it could not be copied. Raises Error then, and if the shard cannot be fetched.
    """

    def __init__(self, storage: Storage, part: int, attempt: int) -> None:
        self._storage, self._part = storage, part
        self._order = attempt, 0
        self._copied: object = None
        """The state of the files in the newest copy, if that is known."""
        self._lock, self._ended = Lock(), Event()
        self._thread = Thread(target=self._keep, daemon=True)
        self.trouble = ""
        """Why the last copy failed."""
        self.failed: Error | None = None
        """Set after FAILURES."""
        self.finished = False
        """Whether the shard is."""

    def __enter__(self) -> Scratch:
        newest = self._storage.newest(self._part)
        self.folder = Path(mkdtemp(prefix=f"espalier-shard-{self._part}-"))
        if newest is not None:
            self._order = max(self._order[0], newest.order[0] + 1), 0
            if not self._take(newest):
                try:
                    self._storage.fetch(newest, self.folder)
                except BaseException:
                    shutil.rmtree(self.folder)
                    raise
                self._copied = self._state(), newest.finished
        self._thread.start()
        return self

    def _take(self, copy: Copy) -> bool:
        """Goes on with the folder that a copy came from, if that is on this machine. Its last worker, if that still
        lives, finds it no more."""
        source = Path(copy.folder)
        if copy.host != socket.gethostname() or not source.is_dir():
            return False
        wait_for(source)
        try:
            source.rename(self.folder)
        except OSError:  # it was removed meanwhile, or is on another disk
            return False
        return True

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with undisturbed():
            self._ended.set()
            self._thread.join()
            try:
                self.copy(whole=True)
            except (Error, OSError) as failed:
                if error is None:
                    raise Error(f"{failed}; it stays in {self.folder} on {socket.gethostname()}") from failed
            else:
                shutil.rmtree(self.folder)

    def copy(self, whole: bool = False) -> None:
        """Gives the storage a copy of what the run needs to go on, or of the `whole` folder. Does nothing where the
        newest copy is the same, or where there is no run yet. Raises Error or OSError."""
        with self._lock:
            state = self._state(), self.finished
            record = self.folder / "run.json"
            if state == self._copied or not record.exists() or (not whole and "outputs" in read_object(record)):
                return
            files = {file.name: file for file in self.folder.iterdir() if file.is_file() and kept(file.name, whole)}
            with TemporaryDirectory(prefix="copy-", dir=self.folder) as copies:
                if JOURNAL in files:
                    files[JOURNAL] = copy_of(files[JOURNAL], Path(copies))
                self._order = self._order[0], self._order[1] + 1
                self._storage.put(self._part, self._order, files, self.folder, self.finished)
            self._copied = state

    def _state(self) -> list[tuple[str, int, int]]:
        """What changes as soon as the run goes on."""
        files = [self.folder / name for name in (*UNFINISHED, f"{JOURNAL}-wal")]
        states = [(file.name, file.stat()) for file in files if file.exists()]
        return [(name, state.st_size, state.st_mtime_ns) for name, state in states]

    def _keep(self) -> None:
        rest, failures = EVERY, 0
        while not self._ended.wait(rest):
            began = time.monotonic()
            try:
                self.copy()
            except (Error, OSError) as error:
                self.trouble, failures = str(error), failures + 1
                if failures == FAILURES:
                    self.failed = Error(self.trouble)
            else:
                self.trouble, failures = "", 0
            rest = max(EVERY, REST * (time.monotonic() - began))


def kept(name: str, whole: bool) -> bool:
    """Whether a copy gets a file of this name."""
    return not name.startswith((f"{JOURNAL}-", "run.lock")) if whole else name in UNFINISHED


def run_at_scratch(
    storage: Storage, task: str, settings: Mapping[str, Any], held: HeldLease, attempt: int
) -> RunResult:
    """Does a shard on this node's own disk. Its folder `out` gets its run.json alone, which tells the driver that a
    worker has begun, and what it has decided."""
    out = Path(settings["out"])
    part = int(settings["shard"].partition("/")[0])

    def tell(folder: Path) -> None:
        out.mkdir(exist_ok=True)
        write_text(out / "run.json", (folder / "run.json").read_text())

    with Scratch(storage, part, attempt) as scratch:
        told = False

        def progress(at: Progress) -> None:
            nonlocal told
            if scratch.failed is not None:
                raise scratch.failed
            if not told and at.questions and at.probes is None:
                scratch.copy()  # before the first question: a storage that cannot be written costs nothing
                tell(scratch.folder)
                told = True
            held.trouble = scratch.trouble
            held(at)

        result = run_job(task, {**settings, "out": str(scratch.folder)}, progress)
        scratch.finished = result.open == 0
        tell(scratch.folder)
    return result
