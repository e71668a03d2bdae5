"""The folders of a run that was done in shards, and whether they fit together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import InputError
from ..io.fields import Fields
from ..io.files import read_object, record_of

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
