"""Runs whose model answers batch files. Each round is one batch of requests."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._core import Progress
from .errors import InputError
from .io.files import naming, opened, record_of, working, write_text
from .runs.job import RunResult, run_job
from .runs.progress import log, warning

__all__ = ["Ingested", "Round", "ingest", "prepare"]

MOST_REQUESTS = 50_000
"""Requests that OpenAI takes in one file."""
MOST_BYTES = 190_000_000
"""A little less than OpenAI takes in one file."""


@dataclass(frozen=True)
class Round:
    """The result of a round: the files to send, the number of requests in them, and the run, complete without any."""

    files: list[Path]
    requests: int
    run: RunResult


@dataclass(frozen=True)
class Ingested:
    """What reading responses gave: how many were stored, why others failed (by request), and how many match none."""

    stored: int
    failed: dict[str, str]
    unknown: int


def _lines(path: Path) -> Iterator[str]:
    with io.TextIOWrapper(opened(path), encoding="utf-8", newline="\n") as file:
        yield from file


def _ids(path: Path) -> set[str]:
    return {json.loads(line)["custom_id"] for line in _lines(path)} if path.exists() else set()


def _request_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("requests-*.jsonl"))


def outstanding(out: str | os.PathLike[str]) -> dict[Path, int]:
    """The files of a run's folder that still wait for responses, with their numbers of open requests."""
    folder = Path(out) / "batch"
    heard = _ids(folder / "heard.jsonl")
    waiting = {path: len(_ids(path) - heard) for path in _request_files(folder)}
    return {path: count for path, count in waiting.items() if count}


def _split(waiting: Path, folder: Path, number: int, most: int) -> list[str]:
    """The lines of `waiting` in files numbered after `number`: one model per file, limits on requests and bytes."""
    parts: dict[str, list[str]] = {}
    files: list[str] = []

    def write(model: str) -> None:
        nonlocal number
        number += 1
        files.append(f"requests-{number:04}.jsonl")
        write_text(folder / files[-1], "".join(parts.pop(model)))

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


def round_settings(settings: Mapping[str, Any], *, most: int, again: bool) -> dict[str, Any]:
    """The settings of a round that keeps no requests. Raises ValueError for what no round takes."""
    chosen = {"model": "batch"} | {name: value for name, value in settings.items() if value is not None}
    if chosen.get("journal") is False:
        raise ValueError("batches need the journal")
    if not chosen.get("model_name"):
        raise ValueError("option 'model-name' is missing: the name of the model that the batch is for")
    if most < 1:
        raise ValueError(f"option 'most': {most} is not allowed, must be 1 or more")
    if not again:
        for path, count in outstanding(chosen["out"]).items():
            raise ValueError(f"{path}: {count} requests wait for responses; ingest them first, or ask for them --again")
    return chosen | {"batch_file": os.devnull}


def prepare(
    task: str,
    settings: Mapping[str, Any],
    progress: Callable[[Progress], None] | None = None,
    *,
    most: int = MOST_REQUESTS,
    again: bool = False,
) -> Round:
    """Runs `expand` or `answer` as far as its journal reaches. Writes the next requests to OUT/batch/requests-N.jsonl.

    `settings` as for `expand`. The default model is "batch", which single purposes may use too. Raises ValueError while
    earlier requests have no response, unless `again`.
    """
    chosen = round_settings(settings, most=most, again=again)
    folder = Path(chosen["out"]) / "batch"
    with working(folder, "espalier batch prepare") as new:
        waiting = folder / "waiting.part"
        waiting.unlink(missing_ok=True)
        waiting.touch(mode=0o600)
        chosen["batch_file"] = str(waiting)
        result = run_job(task, chosen, warning(progress))
        requests = sum(1 for _ in _lines(waiting))
        files = _split(waiting, new, len(_request_files(folder)), most)
        waiting.unlink()
    return Round([folder / file for file in files], requests, result)


def ingest(
    out: str | os.PathLike[str],
    responses: Sequence[str | os.PathLike[str]],
    *,
    journal_file: str | os.PathLike[str] | None = None,
) -> Ingested:
    """Adds files of batch responses to the journal of a run that `prepare` began.

    Failed requests are asked again by the next round. Raises InputError that names file, line and field.
    """
    folder = Path(out) / "batch"
    requests = [str(path) for path in _request_files(folder)]
    if not requests:
        raise InputError(f"{folder}: there are no requests; `espalier batch prepare` writes them")
    store = os.fspath(journal_file) if journal_file is not None else str(Path(out) / "journal.sqlite")
    endings = record_of(Path(out)).get("options", {}).get("finish_reasons", "")
    stored: set[str] = set()
    failed: dict[str, str] = {}
    unknown = 0
    with working(out, "espalier batch ingest"), working(folder, "espalier batch ingest"):
        for response in responses:
            keys, errors, strangers, doubt = _core.ingest_batch(requests, os.fspath(response), store, endings)
            stored |= set(keys)
            failed |= dict(errors)
            unknown += strangers
            if doubt:
                log.warning("%s: %s", response, doubt)
        failed = {key: why for key, why in failed.items() if key not in stored}
        heard = folder / "heard.jsonl"
        with naming(heard), heard.open("a", encoding="utf-8", newline="\n") as file:
            for key in sorted(stored | failed.keys()):
                file.write(json.dumps({"custom_id": key}) + "\n")
    return Ingested(len(stored), failed, unknown)
