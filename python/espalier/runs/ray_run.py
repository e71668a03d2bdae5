"""A run that is spread over the workers of a Ray cluster, and merged."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import _core
from .._core import Progress
from ..errors import Error, InputError, MissingPart
from ..io.files import record_of
from .job import RunResult, check, run_job
from .merge import merge
from .progress import ProgressView, warning
from .ray_driver import Driver
from .ray_units import Unit, read_units, settled

TASKS = ("expand", "answer")
OWN = {
    "shard": "each worker sets it",
    "journal_file": "each shard has a journal of its own",
    "overwrite": "name another folder",
}
"""Settings of a run that cannot be spread, with the reason."""
EACH = 4
"""Shards for each worker, where nothing is said."""


def ray_run(
    task: str,
    *,
    address: str = "auto",
    workers: int | None = None,
    shards: int | None = None,
    gpus: float = 0,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> RunResult:
    """Does `expand` or `answer` in shards, by workers of a Ray cluster, and merges the shards into the folder `out`.

    `address` is "auto" (the cluster of this machine or of RAY_ADDRESS), "local" (a new one in this machine),
    "HOST:PORT" or "ray://HOST:PORT". A program that is connected to Ray stays connected as it is. `workers` = None: one
    for each processor of the cluster. `shards` = None: four for each worker, or those that the folder has. `gpus`: how
    many a worker gets, for a model that runs in its process. `settings` are those of `expand`, for each worker.

    `out` must be the same folder on all nodes. Call it again with the same settings to continue a run that was stopped.
    Raises Error if shards are not finished, which says why the first is not; MissingPart without Ray.
    """
    return spread(task, settings, warning(progress), address, workers, shards, gpus)


def spread(
    task: str,
    settings: Mapping[str, Any],
    progress: Callable[[Progress], None] | None = None,
    address: str = "auto",
    workers: int | None = None,
    shards: int | None = None,
    gpus: float = 0,
) -> RunResult:
    """What `ray_run` does. Troubles are told to `progress` alone."""
    refuse(task, workers, shards, gpus, settings)
    check(task, settings)
    out = Path(settings["out"])
    file, limit = os.fspath(settings["questions"]), settings.get("limit") or 0
    questions = len(_core.read_questions(file, limit, task == "expand"))
    held = _core.WorkFolder(out, f"espalier {task} --ray")
    try:
        if not (out / "run.json").exists():
            parts = settled(out / "shards", shards)
            with connected(address) as ray:
                workers = workers or capacity(ray, gpus)
                units = read_units(out / "shards", parts or shards or EACH * workers)
                driver = Driver(ray, task, settings, units, questions, progress or ProgressView())
                driver.drive(workers, gpus)
            complain(units, driver.why)
    finally:
        held.release()
    if not (out / "run.json").exists():
        return merge([unit.folder for unit in units], out=out)
    if "outputs" not in record_of(out):
        raise InputError(f"{out}: holds a run that was begun without Ray: go on without it, or name another folder")
    return run_job(task, settings, progress)  # merged before: it is recognised, or refused by name


def complain(units: Sequence[Unit], why: str) -> None:
    """Raises Error if shards are not finished. `why`: what is known where a shard itself does not say it."""
    if left := [unit for unit in units if not unit.finished]:
        why = left[0].why or why or "no worker came to it"
        raise Error(
            f"{len(left)} of {len(units)} shards are not finished; run again to go on; "
            f"the first: {left[0].folder}: {' '.join(why.split())}"
        )


def refuse(task: str, workers: int | None, shards: int | None, gpus: float, settings: Mapping[str, Any]) -> None:
    """Raises ValueError for what cannot be spread."""
    if task not in TASKS:
        raise ValueError(f"'{task}' cannot be spread by Ray, allowed: {', '.join(TASKS)}")
    for name, reason in OWN.items():
        if settings.get(name):
            raise ValueError(f"option '{name}' is not allowed with Ray: {reason}")
    for name, number in (("workers", workers), ("shards", shards)):
        if number is not None and number < 1:
            raise ValueError(f"option '{name}' is {number}, allowed: 1 or more")
    if gpus < 0:
        raise ValueError(f"option 'gpus' is {gpus:g}, allowed: 0 or more")


@contextmanager
def connected(address: str) -> Iterator[ModuleType]:
    """Ray, connected until the end of the block. Raises MissingPart or Error."""
    try:
        import ray
    except ImportError as error:
        raise MissingPart(f"--ray needs Ray (pip install 'espalier-rag[ray]'): {error}") from None
    if ray.is_initialized():
        yield ray
        return
    own = {"include_dashboard": False, "object_store_memory": 100 << 20} if address == "local" else {}
    try:
        if found := re.fullmatch(r"(?:ray://)?(\S+):(\d+)", address):  # Ray itself tries for minutes
            socket.create_connection((found[1], int(found[2])), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
    except Exception as error:  # of many kinds, among them another version of Ray or of Python
        raise Error(f"option 'ray': {address}: {' '.join(str(error).split())}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def capacity(ray: ModuleType, gpus: float) -> int:
    """How many workers the cluster has room for now."""
    has = ray.cluster_resources()
    return max(1, int(has.get("GPU", 0) / gpus if gpus else has.get("CPU", 1)))
