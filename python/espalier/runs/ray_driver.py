"""Gives the shards of a run to workers of Ray, hears their leases, and gives what a lost worker had to another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from .. import _core
from .._core import Progress
from .leases import TERM, Lease, read_lease
from .progress import log
from .ray_units import Queue, Unit, has_decided
from .ray_worker import CARRIED, STORAGES, Outcome, Place, Worker

POLL = 1.0
"""Seconds between two looks at the leases, at least."""
REST = 10
"""Times what a look took, until the next one: a shared file system may be slow, and the leases of many workers many."""
STARTS = 3
"""Workers in succession that Ray lost before they began: no more are started then."""
SLOW = 30.0
"""Seconds without any worker after which this is said."""


@dataclass
class Hand:
    """A worker, as the driver sees it."""

    actor: Any
    place: Place | None = None
    """None = it has not begun."""
    unit: Unit | None = None
    heard: float = 0.0
    """When its lease changed last."""


@dataclass(frozen=True)
class Together:
    """The progress of all workers, as a run tells its own."""

    questions: int
    questions_done: int
    calls: int
    tokens: int
    best_reward: float
    seconds: float
    trouble: str
    probes: int | None = None
    """Workers probe before their first question, each for itself."""


class Driver:
    """Has all shards done, as far as that is possible. The units say afterwards what is finished."""

    def __init__(
        self,
        ray: ModuleType,
        task: str,
        settings: Mapping[str, Any],
        units: Sequence[Unit],
        questions: int,
        progress: Callable[[Progress], None],
        storage: tuple[str, str] | None = None,
    ) -> None:
        self._ray, self._task, self._settings, self._units = ray, task, dict(settings), units
        self._questions, self._progress, self._storage = questions, progress, storage
        self._probes = task != "annotate" and settings.get("constrain") in (None, "auto")
        """Whether a run decides by probes how replies are constrained."""
        self._decided = self._first_decided()
        """The folder of a shard that has decided it, for all."""
        self._queue = Queue(units, one_ahead=self._probes and self._decided is None)
        self._pending: dict[Any, Hand] = {}
        """What a worker is at: beginning, or a shard."""
        self._idle: list[Hand] = []
        self._stillborn = 0
        self._start = time.monotonic()
        self.why = ""
        """Why the last worker that could not begin could not."""

    def drive(self, workers: int, gpus: float) -> None:
        options = {"num_cpus": 1, "num_gpus": gpus, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        self._actor = self._ray.remote(Worker).options(**options)
        look = 0.0
        try:
            for _ in range(min(workers, len(self._queue))):
                self._begin()
            while any(hand.unit for hand in self._pending.values()) or (self._queue.units and self._pending):
                for ref in self._ready():
                    self._hear(ref, self._pending.pop(ref))
                self._give()
                began = time.monotonic()
                if began >= look:
                    self._look()
                    self._tell()
                    look = time.monotonic() + max(POLL, REST * (time.monotonic() - began))
            self._tell()
        finally:
            for hand in [*self._pending.values(), *self._idle]:
                self._ray.kill(hand.actor)

    def _ready(self) -> list[Any]:
        """What has ended, of all workers: waits until there is something, for POLL at most."""
        pending = list(self._pending)
        if self._ray.wait(pending, num_returns=1, timeout=POLL)[0]:
            return list(self._ray.wait(pending, num_returns=len(pending), timeout=0)[0])
        return []

    def _begin(self) -> None:
        hand = Hand(self._actor.remote())
        environment = {name: os.environ[name] for name in os.environ if name in CARRIED or name.startswith(STORAGES)}
        self._pending[hand.actor.begin.remote(str(Path.cwd()), environment, self._settings, self._storage)] = hand

    def _hear(self, ref: Any, hand: Hand) -> None:
        """A worker has begun, has ended a shard, or is lost."""
        try:
            said: Place | Outcome = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:  # its node lacks something
            self._refuse(hand, str(error.cause))
        except self._ray.exceptions.RayError as error:
            self._lose(hand, str(error))
        else:
            if isinstance(said, Place):
                self._stillborn, hand.place = 0, said
                if said.version != (own := _core.build_info()["version"]):
                    self._refuse(hand, f"{said.host} has Espalier {said.version}, not {own}")
                    return
            elif hand.unit is not None and hand.place is not None:
                self._end(hand.unit, said, hand.place)
                hand.unit = None
            self._idle.append(hand)

    def _end(self, unit: Unit, outcome: Outcome, place: Place) -> None:
        unit.at = read_lease(unit.lease)
        unit.end(outcome, place.node)
        if outcome.error:
            log.warning("%s: failed on %s: %s", unit.folder, place.host, outcome.error)
            self._queue.put(unit)
        else:
            self._accept()

    def _refuse(self, hand: Hand, why: str) -> None:
        """A worker cannot work where it is, nor could another one."""
        self.why = why
        log.warning("a worker could not begin: %s", why)
        self._ray.kill(hand.actor)

    def _lose(self, hand: Hand, why: str) -> None:
        self._ray.kill(hand.actor)
        if (unit := hand.unit) is not None:
            unit.lost, unit.why = unit.lost + 1, f"its worker was lost: {why}"
            log.warning("%s: attempt %d lost its worker", unit.folder, unit.at.attempt)
            self._queue.put(unit)
        elif hand.place is None:
            self.why, self._stillborn = why, self._stillborn + 1
        if self._stillborn < STARTS:
            self._begin()

    def _look(self) -> None:
        """Hears the heartbeats. A worker without one has lost its lease."""
        now = time.monotonic()
        for ref, hand in list(self._pending.items()):
            if (unit := hand.unit) is None:
                continue
            at = read_lease(unit.lease)
            if at.attempt == unit.at.attempt and at.beat != unit.at.beat:
                unit.at, hand.heard = at, now
                if at.questions:
                    self._accept()
            elif now - hand.heard > TERM:
                del self._pending[ref]
                self._lose(hand, f"no heartbeat for {TERM:.0f} s")

    def _give(self) -> None:
        places = {hand.place.node for hand in [*self._idle, *self._pending.values()] if hand.place}
        idle, self._idle = self._idle, []
        for hand in idle:
            assert hand.place is not None
            unit = self._queue.take(hand.place.node, len(places) > 1)
            if unit is None:
                self._idle.append(hand)
                continue
            hand.unit, hand.heard = unit, time.monotonic()
            unit.at = Lease(attempt=read_lease(unit.lease).attempt + 1)
            part = {"shard": f"{unit.part}/{len(self._units)}", "out": str(unit.folder)}
            if self._decided:
                part["constrain_as"] = str(self._decided)
            work = hand.actor.work.remote(self._task, {**self._settings, **part}, str(unit.lease), unit.at.attempt)
            self._pending[work] = hand

    def _accept(self) -> None:
        """A shard has accepted the options. Before its questions it has decided what can be decided."""
        if not self._queue.accepted:
            self._decided = self._first_decided()
            self._queue.accept()

    def _first_decided(self) -> Path | None:
        found = (unit.folder for unit in self._units if has_decided(unit.folder))
        return next(found, None) if self._probes else None

    def _tell(self) -> None:
        at = [unit.at for unit in self._units]
        done = sum(one.questions_done for one in at)
        rewards = sum(one.best_reward * one.questions_done for one in at)
        seconds = time.monotonic() - self._start
        trouble = next((one.trouble for one in at if one.trouble), "")
        if seconds > SLOW and not self._idle and all(hand.place is None for hand in self._pending.values()):
            trouble = f"no worker has begun for {SLOW:.0f} s: the cluster has no room, or starts them slowly"
        together = Together(
            questions=self._questions,
            questions_done=done,
            calls=sum(one.calls for one in at),
            tokens=sum(one.tokens for one in at),
            best_reward=rewards / done if done else 0.0,
            seconds=seconds,
            trouble=trouble,
        )
        self._progress(cast(Progress, together))
