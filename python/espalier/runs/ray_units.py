"""The shards of a run that is spread over workers, as its folder has them, and which worker gets which."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError
from ..io.fields import Fields
from ..io.files import read_object, write_text
from .leases import Lease, read_lease
from .ray_worker import Outcome
from .shards import read_shard
from .storage import Storage

ERRORS = 2
"""A shard is given up after so many attempts that ended in an error."""
LOST = 10
"""A shard is given up after so many of its workers were lost."""


@dataclass
class Unit:
    """One shard."""

    part: int
    """From 1."""
    folder: Path
    begun: bool
    """An earlier driver's workers have been in its folder."""
    finished: bool
    at: Lease
    """The newest known state of its lease."""
    failed_on: list[str] = field(default_factory=list)
    """The node of each attempt that ended in an error."""
    lost: int = 0
    why: str = ""
    """The reason why it is not finished."""

    @property
    def lease(self) -> Path:
        return self.folder.with_suffix(".lease")

    def end(self, outcome: Outcome, node: str) -> None:
        """Notes how an attempt ended."""
        self.finished, self.why = not outcome.error and not outcome.open, outcome.error or outcome.why_open
        if outcome.error:
            self.failed_on.append(node)

    @property
    def given_up(self) -> bool:
        return len(self.failed_on) >= ERRORS or self.lost >= LOST


def settled(folder: Path, wanted: int | None, storage: Storage | None = None) -> int | None:
    """The number of shards in a folder, None = it has none yet. Raises InputError if another number is wanted, or
    another storage."""
    file = folder / "shards.json"
    try:
        record = read_object(file)
    except FileNotFoundError:
        return None
    parts = Fields(str(file), record).whole("shards")
    if wanted not in (None, parts):
        raise InputError(
            f"{folder}: holds a run in {parts} shards, not {wanted} (option 'shards'): leave the option out, or name "
            "another folder"
        )
    if (chosen := record.get("storage", "")) != (storage.url if storage else ""):
        raise InputError(
            f"{folder}: holds a run whose shards are in {chosen or 'this folder'} (option 'storage'): choose "
            "the same, or name another folder"
        )
    return parts


def read_units(folder: Path, parts: int, anew: bool = False, storage: Storage | None = None) -> list[Unit]:
    """The shards in a folder, which from now on has this number of them. `anew`: what is finished is done again.
    `storage`: where they are, None = in the folder."""
    folder.mkdir(exist_ok=True)
    record = {"shards": parts} | ({"storage": storage.url} if storage else {})
    write_text(folder / "shards.json", json.dumps(record) + "\n")
    finished = storage.finished() if storage and not anew else set()
    units = []
    for part in range(1, parts + 1):
        unit = Unit(part, folder / f"shard-{part}", False, part in finished, Lease())
        unit.at, unit.begun = read_lease(unit.lease), unit.finished or (unit.folder / "run.json").exists()
        if unit.begun and not anew and not storage:
            with suppress(InputError):
                read_shard(unit.folder)
                questions = read_object(unit.folder / "summary.json")["questions"]
                unit.finished, unit.at = True, Lease(attempt=unit.at.attempt, questions_done=questions)
        units.append(unit)
    return units


def has_decided(folder: Path) -> bool:
    """Whether the run in a folder has decided how the replies of some purpose are constrained."""
    try:
        options = read_object(folder / "run.json")["options"]
    except (FileNotFoundError, InputError, KeyError):
        return False
    return any(name.startswith("sampling.") and name.endswith(".constrain") and options[name] for name in options)


class Queue:
    """Shards that wait for a worker.

    A folder that was begun may be of a run under other options. So shards that were begun come first, finished ones
    before others. Nothing new is begun before one of them has accepted the options. `one_ahead`: until then one shard
    alone is worked on, a new one where none was begun.
    """

    def __init__(self, units: Sequence[Unit], one_ahead: bool) -> None:
        finished = [unit for unit in units if unit.finished]
        begun = [unit for unit in units if unit.begun and not unit.finished]
        self._units = [*finished[:1], *begun, *(unit for unit in units if not unit.begun)]
        self._first = finished[:1] or begun or (list(units) if one_ahead else [])
        self.accepted = not self._first
        self._one_ahead = one_ahead
        self._ahead = False
        """It is being worked on."""

    def accept(self) -> None:
        """A shard has accepted the options."""
        self.accepted = True

    def put(self, unit: Unit) -> None:
        self._ahead = False
        if not unit.given_up:
            self._units.append(unit)

    def __len__(self) -> int:
        return len(self._units)

    @property
    def units(self) -> list[Unit]:
        """Those that may be given to a worker now."""
        if self.accepted:
            return self._units
        first = [unit for unit in self._units if unit in self._first]
        return first[: not self._ahead] if self._one_ahead else first

    def take(self, node: str, others: bool) -> Unit | None:
        """One for a worker of a node: a shard that failed there goes to another node, as long as there are `others`."""
        for unit in self.units:
            if node not in unit.failed_on or not others:
                self._units.remove(unit)
                self._ahead = True
                return unit
        return None
