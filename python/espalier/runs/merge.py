"""The shards of a run, merged into the folder of one run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from heapq import merge as in_order
from operator import itemgetter
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import InputError
from ..io.files import read_object, record_of, replacing, working, write_text
from ..report import add_report
from .job import RunResult
from .shards import Shard, difference, read_shards
from .whole_summary import whole_summary

ONE_EACH = ("costs.jsonl", "answers.jsonl", "trees.jsonl")
"""Files with one row for each question. The others have any number, and their rows name the question."""
MEMORY = 16 << 20
"""Bytes of rows that wait in memory, of all shards together."""


def merge(shards: Sequence[str | os.PathLike[str]], *, out: str | os.PathLike[str], journal: bool = True) -> RunResult:
    """Merges the folders of all shards of a run into the folder `out`, which then holds the files of the run that was
    never cut into shards.

    The folders may come in any order. `journal` = False leaves their journals where they are, so that `rescore` of the
    merged run is not possible. Raises InputError that names a folder that is no finished shard, or does not fit the
    others, and shards that are missing.
    """
    if not shards:
        raise ValueError("there is nothing to merge: name the folders of all shards")
    found = read_shards([Path(folder) for folder in shards])
    target = Path(out)
    _core.settle(target)
    if (target / "run.json").exists():
        return recognised(found[0], target)
    with working(target, "espalier merge") as new:
        for name in found[0].files:
            write_rows(found, name, new / name)
        write_text(new / "accounts.json", json.dumps(accounts(found)) + "\n")
        shared = shared_journal(found)
        write_summary(found, new)
        add_report(str(new))
        _core.merge_record(str(found[0].folder), str(new), shared)
        if journal and not shared and all(shard.journal.exists() for shard in found):
            copy_journals(found, new)
        for shard in found:
            if record_of(shard.folder) != shard.record:
                raise InputError(f"{shard.folder}: was changed while it was merged")
    return RunResult(target, read_object(target / "summary.json"), 0, False)


def recognised(shard: Shard, target: Path) -> RunResult:
    """The result of an earlier merge. Raises InputError if the folder holds something else."""
    record = record_of(target)
    name = "it is a shard itself" if record.get("shard") else difference(shard.record, record)
    if name or "outputs" not in record or _core.changed_outputs(str(target)):
        raise InputError(f"{target}: holds another run ({name or 'it was changed'}); name another folder")
    return RunResult(target, read_object(target / "summary.json"), 0, True)


def write_rows(shards: Sequence[Shard], name: str, target: Path) -> None:
    """Writes the rows that the shards have in their files of this name, in the order of the questions."""
    block = MEMORY // len(shards)
    rows = in_order(*(placed(shard.folder, name, block) for shard in shards), key=itemgetter(0))
    with replacing(target) as file:
        file.writelines(row for _, row in rows)


def placed(folder: Path, name: str, block: int) -> Iterator[tuple[int, bytes]]:
    """The rows of a shard's file, each with the place of its question in the whole run."""
    questions = map(json.loads, rows_of(folder / "costs.jsonl", block))
    rows = rows_of(folder / name, block)
    if name in ONE_EACH:
        yield from ((question["place"], row) for question, row in zip(questions, rows, strict=True))
        return
    at: dict[str, Any] = {"id": None}
    for row in rows:
        tree = json.loads(row)["provenance"]["tree"]
        while at["id"] != tree:
            at = next(questions)
        yield at["place"], row


def rows_of(file: Path, block: int) -> Iterator[bytes]:
    """The rows of a file, about `block` bytes at a time. It is closed in between, as there may be thousands."""
    offset = 0
    while True:
        with file.open("rb") as opened:
            opened.seek(offset)
            rows = opened.readlines(block)
            offset = opened.tell()
        if not rows:
            return
        yield from rows


def accounts(shards: Sequence[Shard]) -> dict[str, Any]:
    """The sums of all accounts.json, and the figures of all endpoints."""
    whole: dict[str, Any] = {}
    for shard in shards:
        for part, counts in read_object(shard.folder / "accounts.json").items():
            if isinstance(counts, list):
                whole.setdefault(part, []).extend(counts)
            else:
                sums = whole.setdefault(part, dict.fromkeys(counts, 0))
                whole[part] = {name: sums[name] + count for name, count in counts.items()}
    return whole


def write_summary(shards: Sequence[Shard], new: Path) -> None:
    """Writes the summary of the run whose rows are in a folder."""
    parts = [read_object(shard.folder / "summary.json") for shard in shards]
    whole = whole_summary(parts, map(json.loads, rows_of(new / "answers.jsonl", MEMORY)))
    _core.write_json(str(new / "summary.json"), json.dumps(whole))


def shared_journal(shards: Sequence[Shard]) -> str:
    """The journal that all shards used, '' if each has its own."""
    files = {shard.named_journal for shard in shards}
    return files.pop() if len(files) == 1 else ""


def copy_journals(shards: Sequence[Shard], run: Path) -> None:
    """Writes one journal with the records of the shards' own, as paid by the run in a folder, and all stops by the
    clock."""
    identity = read_object(run / "run.json")["identity"]
    with (run / "stops").open("wb") as stops:
        for shard in shards:
            _core.copy_journal(str(shard.journal), str(run / "journal.sqlite"), identity)
            with suppress(FileNotFoundError):
                stops.write(shard.stops.read_bytes())
