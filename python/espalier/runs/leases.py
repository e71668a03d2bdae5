"""Leases of the shards that workers do: a file beside each shard says who works on it and how far it is.

Only the worker that holds a lease writes its file. A worker that finds a higher attempt in it ends at once: another
one has its shard.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event, Thread

from .._core import Progress
from ..io.files import write_text

BEAT = 2.0
"""Seconds between two heartbeats."""
TERM = 60.0
"""Seconds without a heartbeat after which a lease has run out."""


@dataclass(frozen=True)
class Lease:
    """What a lease's file says."""

    owner: str = ""
    """Process and host."""
    attempt: int = 0
    """From 1; 0 = nobody has had this shard."""
    beat: int = 0
    questions: int = 0
    """Of the shard. 0 = its run has not accepted its folder yet, or has not decided how replies are constrained."""
    questions_done: int = 0
    calls: int = 0
    tokens: int = 0
    best_reward: float = 0.0
    trouble: str = ""


def read_lease(file: Path) -> Lease:
    """A file that is missing or that nobody can read is the lease of nobody."""
    try:
        return Lease(**json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError):
        return Lease()


class HeldLease:
    """Holds a lease within a `with` block, and tells in its file how the run goes on. Raises OSError if the file cannot
    be written at the beginning."""

    def __init__(self, file: Path, attempt: int) -> None:
        self._file = file
        self._lease = Lease(f"process {os.getpid()} on {socket.gethostname()}", attempt)
        self.trouble = ""
        """Told where the run itself has none."""
        self._ended = Event()
        self._thread = Thread(target=self._beat, daemon=True)

    def __enter__(self) -> HeldLease:
        self._write()
        self._thread.start()
        return self

    def __call__(self, at: Progress) -> None:
        figures = {name: getattr(at, name) for name in ("questions", "questions_done", "calls", "tokens")}
        if at.probes is not None:
            figures["questions"] = 0
        self._lease = replace(self._lease, **figures, best_reward=at.best_reward, trouble=at.trouble or self.trouble)

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        with suppress(OSError):
            self._write()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            if read_lease(self._file).attempt > self._lease.attempt:
                os._exit(1)
            with suppress(OSError):  # the run itself says that nothing can be written; here the lease runs out
                self._write()

    def _write(self) -> None:
        self._lease = replace(self._lease, beat=self._lease.beat + 1)
        write_text(self._file, json.dumps(asdict(self._lease)) + "\n")


def wait_for(folder: Path) -> None:
    """Waits until nobody works in the folder of a run, for the TERM of a lease at most: its last worker may live
    a little longer."""
    end = time.monotonic() + TERM
    while time.monotonic() < end:
        try:
            with (folder / "run.lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except FileNotFoundError:
            return
        except BlockingIOError:
            time.sleep(0.2)
