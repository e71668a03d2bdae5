"""The shards of a run, merged into the folder of one run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import merge as in_order
from operator import itemgetter
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import InputError
from ..io.fields import Fields
from ..io.files import naming, opened, read_object, record_of, replacing, working, write_text
from ..report import add_report
from .job import RunResult
from .reversed_pairs import leave_out_reversed
from .summary import whole_summary, with_notes

OWN = ("identity", "shard", "noted", "outputs")
"""Members of run.json in which the shards of a run may differ."""
NAMED = 5
"""Missing shards that are named at most."""


@dataclass(frozen=True)
class Shard:
    """A finished shard of a run."""

    folder: Path
    record: dict[str, Any]
    """Its run.json."""
    part: int
    """From 1."""
    parts: int

    @property
    def named_journal(self) -> str:
        """The file that its options named to keep the responses. '' = none, as it has its own."""
        return str(self.record["noted"].get("journal", ""))

    @property
    def journal(self) -> Path:
        return Path(self.named_journal or self.folder / "journal.sqlite")

    @property
    def stops(self) -> Path:
        """Where the clock ended searches."""
        return Path(f"{self.named_journal}.stops") if self.named_journal else self.folder / "stops"

    @property
    def files(self) -> list[str]:
        """The names of its files of rows."""
        sizes = [name.removesuffix(".bytes") for name in self.record["outputs"] if name.endswith(".bytes")]
        return [name for name in sizes if name.endswith(".jsonl")]


def read_shard(folder: Path) -> Shard:
    """Raises InputError if the folder holds no shard, or one that is not finished or was changed since."""
    record = record_of(folder)
    if not (name := record.get("shard")):
        raise InputError(f"{folder}: holds a run that was not done in shards (option 'shard' of its run)")
    if "outputs" not in record:
        raise InputError(f"{folder}: is not finished: run its command again, which goes on with it")
    for file in _core.changed_outputs(str(folder)):
        raise InputError(f"{folder / file}: is not as the run left it: run its command again, which makes it again")
    summary = folder / "summary.json"
    if left := Fields(str(summary), read_object(summary)).whole("open"):
        raise InputError(f"{folder}: is not finished: {left} questions are open; run its command again")
    part, _, parts = name.partition("/")
    return Shard(folder, record, int(part), int(parts))


def read_shards(folders: Sequence[Path]) -> list[Shard]:
    """All shards of one run, in their order. Raises InputError that says what does not fit, or is missing."""
    shards = [read_shard(folder) for folder in folders]
    first = shards[0]
    found: dict[int, Shard] = {}
    for shard in shards:
        if name := difference(first.record, shard.record):
            raise InputError(f"{shard.folder}: is no shard of the run in {first.folder}: {name}")
        if shard.parts != first.parts:
            raise InputError(f"{shard.folder}: is one of {shard.parts} shards, {first.folder} one of {first.parts}")
        if (same := found.setdefault(shard.part, shard)) is not shard:
            raise InputError(f"{shard.folder}: is shard {shard.part}/{shard.parts}, as {same.folder} is")
    if missing := [f"{part}/{first.parts}" for part in range(1, first.parts + 1) if part not in found]:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        raise InputError(f"{', '.join(missing[:NAMED])}{more}: no folder holds this shard of the run in {first.folder}")
    return [found[part] for part in sorted(found)]


def difference(run: dict[str, Any], other: dict[str, Any]) -> str:
    """The first field in which two runs differ, with both values. '' = they are one run, or its shards."""
    one, two = flat(run), flat(other)
    for name in [*one, *(name for name in two if name not in one)]:
        if one.get(name) != two.get(name):
            return f"{name} is {json.dumps(two.get(name))}, not {json.dumps(one.get(name))}"
    return ""


def flat(record: dict[str, Any]) -> dict[str, Any]:
    """The fields of a run.json that the shards of a run share, by their dotted names."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and name not in OWN:
            fields |= {f"{name}.{inner}": part for inner, part in value.items()}
        elif name not in OWN:
            fields[name] = value
    return fields


ONE_EACH = ("costs.jsonl", "answers.jsonl", "trees.jsonl")
"""Files with one row for each question. The others have any number, and their rows name the question."""
MEMORY = 16 << 20
"""Bytes of rows that wait in memory, of all shards together."""


def merge(shards: Sequence[str | os.PathLike[str]], *, out: str | os.PathLike[str], journal: bool = True) -> RunResult:
    """Merges the folders of all shards of a run, in any order, into the folder `out`.

    `journal` = False leaves their journals where they are, so that `rescore` of the merged run is not possible. Raises
    InputError that names a folder that is no finished shard, or does not fit the others, and shards that are missing.
    """
    if not shards:
        raise ValueError("there is nothing to merge: name the folders of all shards")
    found = read_shards([Path(folder) for folder in shards])
    target = Path(out)
    _core.settle(target)
    if (target / "run.json").exists():
        return recognised(found[0], target)
    with working(target, "espalier merge") as new:
        for name in dict.fromkeys(name for shard in found for name in shard.files):
            write_rows(found, name, new / name)
        write_text(new / "accounts.json", json.dumps(accounts(found)) + "\n")
        shared = shared_journal(found)
        parts = [read_object(shard.folder / "summary.json") for shard in found]
        whole = whole_summary(parts, map(json.loads, rows_of(new / "answers.jsonl", MEMORY)))
        _core.write_json(str(new / "summary.json"), json.dumps(with_notes(whole, leave_out_reversed(new))))
        add_report(str(new))
        _core.note_outputs(str(found[0].folder), str(new), shared)
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
    rows = in_order(*(placed(shard.folder, name, block) for shard in shards if name in shard.files), key=itemgetter(0))
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
        found = json.loads(row)
        tree = found["provenance"]["tree"] if "provenance" in found else found["id"]
        while at["id"] != tree:
            at = next(questions)
        yield at["place"], row


def rows_of(file: Path, block: int) -> Iterator[bytes]:
    """The rows of a file, about `block` bytes at a time. It is closed in between, as there may be thousands."""
    offset = 0
    while True:
        with opened(file) as part:
            part.seek(offset)
            rows = part.readlines(block)
            offset = part.tell()
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


def shared_journal(shards: Sequence[Shard]) -> str:
    """The journal that all shards used, '' if each has its own."""
    files = {shard.named_journal for shard in shards}
    return files.pop() if len(files) == 1 else ""


def copy_journals(shards: Sequence[Shard], run: Path) -> None:
    """Writes one journal with the records of the shards, as paid by the run in a folder, and stops by the clock."""
    identity = read_object(run / "run.json")["identity"]
    with naming(run / "stops"), (run / "stops").open("wb") as stops:
        for shard in shards:
            _core.copy_journal(str(shard.journal), str(run / "journal.sqlite"), identity)
            with suppress(FileNotFoundError):
                stops.write(shard.stops.read_bytes())
