"""Runs whose model is asked through batch files: in rounds, each of which is one batch of requests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._core import Progress
from ._errors import InputError
from ._files import write_text
from ._job import RunResult, run_job

MOST_REQUESTS = 50_000
"""Requests that OpenAI takes in one file."""
MOST_BYTES = 190_000_000
"""A little less than OpenAI takes in one file."""


@dataclass(frozen=True)
class Round:
    """What a round left: the files to send, the requests in them, and the run, which is complete without any."""

    files: list[Path]
    requests: int
    run: RunResult


@dataclass(frozen=True)
class Ingested:
    """What became of responses: how many were stored, why others failed (by request), how many belong to no request."""

    stored: int
    failed: dict[str, str]
    unknown: int


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        yield from file


def _ids(path: Path) -> set[str]:
    return {json.loads(line)["custom_id"] for line in _lines(path)} if path.exists() else set()


def _request_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("requests-*.jsonl"))


def outstanding(out: str | os.PathLike[str]) -> dict[Path, int]:
    """The files of a run's folder that still wait for responses, and for how many."""
    folder = Path(out) / "batch"
    heard = _ids(folder / "heard.jsonl")
    waiting = {path: len(_ids(path) - heard) for path in _request_files(folder)}
    return {path: count for path, count in waiting.items() if count}


def _split(waiting: Path, folder: Path, most: int) -> list[Path]:
    """The lines of `waiting` in numbered files: one model a file, at most so many requests and bytes."""
    number = len(_request_files(folder))
    parts: dict[str, list[str]] = {}
    files: list[Path] = []

    def write(model: str) -> None:
        nonlocal number
        number += 1
        path = folder / f"requests-{number:04}.jsonl"
        write_text(path, "".join(parts.pop(model)))
        files.append(path)

    sizes: dict[str, int] = {}
    for line in _lines(waiting):
        model = json.loads(line)["body"]["model"]
        size = len(line.encode())
        if model in parts and (len(parts[model]) == most or sizes[model] + size > MOST_BYTES):
            write(model)
        if model not in parts:
            parts[model], sizes[model] = [], 0
        parts[model].append(line)
        sizes[model] += size
    for model in list(parts):
        write(model)
    return files


def prepare_batch(
    task: str,
    settings: Mapping[str, Any],
    progress: Callable[[Progress], None] | None = None,
    *,
    most: int = MOST_REQUESTS,
    again: bool = False,
) -> Round:
    """Walks a run of `expand` or `answer` as far as its journal goes and writes what it would ask next to
    OUT/batch/requests-N.jsonl.

    `settings` as for `expand`; the model is "batch" unless named, and so may be models of single purposes. Raises
    ValueError while earlier requests are without a response, unless `again`.
    """
    chosen = {"model": "batch"} | {name: value for name, value in settings.items() if value is not None}
    if chosen.get("journal") is False:
        raise ValueError("batches need the journal")
    if not chosen.get("model_name"):
        raise ValueError("option 'model-name' is missing: the name of the model that the batch is for")
    if most < 1:
        raise ValueError(f"option 'most': {most} is not allowed, must be 1 or more")
    folder = Path(chosen["out"]) / "batch"
    if not again:
        for path, count in outstanding(chosen["out"]).items():
            raise ValueError(f"{path}: {count} requests wait for responses; ingest them first, or ask for them --again")
    folder.mkdir(parents=True, exist_ok=True)
    waiting = folder / "waiting.part"
    waiting.unlink(missing_ok=True)
    chosen["batch_file"] = str(waiting)
    result = run_job(task, chosen, progress)
    if not waiting.exists():
        return Round([], 0, result)
    requests = sum(1 for _ in _lines(waiting))
    files = _split(waiting, folder, most)
    waiting.unlink()
    return Round(files, requests, result)


def ingest_batch(
    out: str | os.PathLike[str],
    responses: Sequence[str | os.PathLike[str]],
    *,
    journal: str | os.PathLike[str] | None = None,
) -> Ingested:
    """Puts files of batch responses into the journal of a run that `prepare_batch` began.

    Failed requests are asked again by the next round. Raises InputError that names file, line and field.
    """
    folder = Path(out) / "batch"
    requests = [str(path) for path in _request_files(folder)]
    if not requests:
        raise InputError(f"{folder}: there are no requests; `espalier batch prepare` writes them")
    store = os.fspath(journal) if journal is not None else str(Path(out) / "journal.sqlite")
    stored: set[str] = set()
    failed: dict[str, str] = {}
    unknown = 0
    for response in responses:
        keys, errors, strangers = _core.ingest_batch(requests, os.fspath(response), store)
        stored |= set(keys)
        failed |= dict(errors)
        unknown += strangers
    failed = {key: why for key, why in failed.items() if key not in stored}
    with (folder / "heard.jsonl").open("a", encoding="utf-8", newline="\n") as file:
        for key in sorted(stored | failed.keys()):
            file.write(json.dumps({"custom_id": key}) + "\n")
    return Ingested(len(stored), failed, unknown)
