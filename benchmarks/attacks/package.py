"""The installed package as its users run it: the command and programs in processes of their own, with a time limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import espalier as esp

from .server import Server
from .verdict import Broke, attacked, held

COMMAND = [sys.executable, "-m", "espalier.cli"]
Process = subprocess.Popen[str]


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def last(self) -> str:
        """The last line of its errors."""
        return (self.err.strip().splitlines() or ["nothing on stderr"])[-1]


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Ours without keys and proxies: the servers are on the loopback."""
    ours = {name: value for name, value in os.environ.items() if not name.lower().endswith(("_proxy", "_api_key"))}
    return {**ours, **more}


@contextmanager
def started(command: Sequence[object], env: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Runs beside the block, whose end is the process's end."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    with subprocess.Popen([*map(str, command)], env=environment(env or {}), **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: Process, limit: float = 60, since: float | None = None) -> Ended:
    """Waits for a process's end. Raises Broke after `limit` seconds."""
    begin = time.monotonic() if since is None else since
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise Broke(f"the process did not end in {limit:g} s") from None
    return Ended(process.returncode, out, err, time.monotonic() - begin)


def run(command: Sequence[object], *, limit: float = 60, env: Mapping[str, str] | None = None) -> Ended:
    with started(command, env) as process:
        return ended(process, limit)


def espalier(*arguments: object, limit: float = 60, env: Mapping[str, str] | None = None) -> Ended:
    return run([*COMMAND, *arguments], limit=limit, env=env)


def python(program: str, *arguments: object, limit: float = 60) -> Ended:
    return run([sys.executable, "-c", program, *arguments], limit=limit)


def good(done: Ended) -> Ended:
    """A command that must have succeeded."""
    held(done.code == 0, f"exit {done.code}: {done.last}")
    return done


def explained(done: Ended, *words: str) -> None:
    """A command that must have failed in plain words, without a traceback."""
    held("Traceback" not in done.err, f"a traceback: {done.last}")
    held(done.code > 0, f"exit {done.code}, where a failure was due")
    for word in words:
        held(word in done.said, f"'{word}' is nowhere on the console; its last line: {done.last}")


def killed(process: Process) -> None:
    """Ends a living process on the spot."""
    attacked(process.poll() is None, f"the process had ended before it was killed: {process.poll()}")
    process.kill()
    process.wait()


def until_asked(server: Server, times: int, process: Process, limit: float = 60) -> None:
    """Waits until the server has been asked so many times."""
    end = time.monotonic() + limit
    while len(server.asked) < times:
        attacked(process.poll() is None and time.monotonic() < end, f"the server was asked {len(server.asked)} times")
        time.sleep(0.002)


def world(folder: Path, *, questions: int = 4, passages: int = 60) -> list[str]:
    """A small generated world in a folder, as the options that name it."""
    folder.mkdir(exist_ok=True)
    esp.write_world(folder, passages=passages, questions=questions, seed=1)
    return ["--questions", f"{folder}/questions.jsonl", "--corpus", f"{folder}/corpus.jsonl"]


def data(run: Path) -> dict[str, bytes]:
    """The files of a run that must be equal to the byte."""
    return {path.name: path.read_bytes() for path in sorted(run.glob("*.jsonl")) if path.name != "costs.jsonl"}


def equal(one: Path, other: Path) -> None:
    """Two runs must have the same bytes."""
    ours, theirs = data(one), data(other)
    held(ours.keys() == theirs.keys(), f"{sorted(ours)} are not {sorted(theirs)}")
    different = [name for name in ours if ours[name] != theirs[name]]
    held(not different, f"other bytes in {', '.join(different)}")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
