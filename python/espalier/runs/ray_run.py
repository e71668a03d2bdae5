"""A run, or an annotation of one, that is spread over the workers of a Ray cluster, and merged."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, overload

from .. import _core
from .._core import Progress
from ..errors import Error, InputError, MissingPart
from ..io.files import read_object, record_of, working, write_text
from .annotate import annotation
from .job import RunResult, check, run_job
from .merge import check_unchanged, copy_journals, journaled, merge, write_merged
from .progress import ProgressView, warning
from .ray_driver import Driver
from .ray_units import Unit, read_units, settled
from .shards import read_shards
from .storage import Storage

TASKS = ("expand", "answer", "annotate", "eval")
OWN = {
    "shard": "each worker sets it",
    "journal_file": "each shard has a journal of its own",
    "overwrite": "name another folder",
}
"""Settings of a run that cannot be spread, with the reason."""
EACH = 4
"""Shards for each worker, where nothing is said."""
FETCHES = 8
"""Shards that are fetched from the storage at once."""


class Crew(NamedTuple):
    """The workers of a run."""

    address: str = "auto"
    workers: int | None = None
    """None = one for each processor of the cluster."""
    shards: int | None = None
    """None = EACH for each worker, or those that the folder has."""
    gpus: float = 0
    """Of each worker."""
    storage: str | os.PathLike[str] | None = None
    """A folder or an address of fsspec. None = the shards are in the folder of the run."""

    def check(self) -> None:
        """Raises ValueError."""
        for name, number in (("workers", self.workers), ("shards", self.shards)):
            if number is not None and number < 1:
                raise ValueError(f"option '{name}' is {number}, allowed: 1 or more")
        if self.gpus < 0:
            raise ValueError(f"option 'gpus' is {self.gpus:g}, allowed: 0 or more")


@overload
def ray_run(task: Literal["eval"], **settings: Any) -> dict[str, Any]: ...
@overload
def ray_run(task: Literal["expand", "answer", "annotate"], **settings: Any) -> RunResult: ...
def ray_run(
    task: str,
    *,
    address: str = "auto",
    workers: int | None = None,
    shards: int | None = None,
    gpus: float = 0,
    storage: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> RunResult | dict[str, Any]:
    """Does `expand`, `answer`, `annotate` or `eval` in shards, by workers of a Ray cluster, and merges the shards into
    the folder `out`.

    `address` is "auto" (the cluster of this machine or of RAY_ADDRESS), "local" (a new one in this machine),
    "HOST:PORT" or "ray://HOST:PORT". A program that is connected to Ray stays connected as it is. `workers` = None: one
    for each processor of the cluster. `shards` = None: four for each worker, or those that the folder has. `gpus`: how
    many a worker gets, for a model that runs in its process. `storage` is a folder, or an address of fsspec such as
    "s3://bucket/runs": workers do shards on their nodes' own disks then, and copy them there. `settings` are those of
    the task, for each worker, such as `run` and `with_` of `annotate`, or `methods` of `eval`, which returns what
    `evaluate` does.

    `out` must be the same folder on all nodes. Call it again with the same settings to continue a run that was stopped.
    Raises Error if shards are not finished, which says why the first is not; MissingPart without Ray.
    """
    if task not in TASKS:
        raise ValueError(f"'{task}' cannot be spread by Ray, allowed: {', '.join(TASKS)}")
    refuse(settings)
    crew = Crew(address, workers, shards, gpus, storage)
    if task == "eval":
        from ..eval.evaluation import write_evaluation
        from ..eval.plan import make_plan  # numpy is not for every run

        if "methods" not in settings:
            raise ValueError("option 'methods' is missing: the methods of the evaluation")
        own = {name: settings.pop(name) for name in ("budget", "baseline", "sweep") if name in settings}
        plan = make_plan(settings.pop("methods"), settings, **own)

        def job(task: str, run: Mapping[str, Any], view: Callable[[Progress], None] | None = None) -> RunResult:
            return spread(task, run, progress or view, crew=crew)

        return write_evaluation(plan, job)
    chosen = annotation(**settings) if task == "annotate" else settings
    return spread(task, chosen, warning(progress), crew=crew)


def refuse(settings: Mapping[str, Any]) -> None:
    """Raises ValueError for a setting that cannot be spread."""
    for name, reason in OWN.items():
        if settings.get(name):
            raise ValueError(f"option '{name}' is not allowed with Ray: {reason}")


def spread(
    task: str, settings: Mapping[str, Any], progress: Callable[[Progress], None] | None = None, *, crew: Crew
) -> RunResult:
    """What `ray_run` does. Troubles are told to `progress` alone."""
    crew.check()
    check(task, settings)
    if task == "annotate":
        return spread_annotation(settings, progress, crew)
    out = Path(settings["out"])
    own = without_journal(settings)  # that of an evaluation
    held = _core.WorkFolder(out, f"espalier {task} --ray")
    try:
        if not (out / "run.json").exists():
            folders = do_shards(task, own, out / "shards", progress, crew)
    finally:
        held.release()
    if not (out / "run.json").exists():
        return merge(folders, out=out)
    if "outputs" not in record_of(out):
        raise InputError(f"{out}: holds a run that was begun without Ray: go on without it, or name another folder")
    return run_job(task, own, progress)  # merged before: it is recognised, or refused by name


def spread_annotation(
    settings: Mapping[str, Any], progress: Callable[[Progress], None] | None, crew: Crew
) -> RunResult:
    """Annotates a run's trees, those of each shard in a folder and with a journal of its own. The journal of the run
    gets all answers. Shards that were finished are done again, from their journals."""
    out, run = Path(settings["out"]), Path(settings["trees"]).parent
    if settings["shard"]:
        raise InputError(f"{run}: is a shard: annotate it without Ray, or the merged run")
    within = out.exists() and out.samefile(run)
    if not within and (out / "run.json").exists() and not (out / "annotation/shards.json").exists():
        raise InputError(f"{out}: holds a run that no workers of Ray annotated: name another folder")
    each = without_journal(settings) | {"overwrite": within}
    with working(out, "espalier annotate --ray") as new:
        shards = read_shards(do_shards("annotate", each, out / "annotation", progress, crew))
        write_merged(shards, new, settings["journal_file"])
        if journaled(shards):
            copy_journals(shards, Path(settings["journal_file"]), new)
        check_unchanged(shards)
        if within:
            keep_record(run, new)
    return RunResult(out, read_object(out / "summary.json"), 0, False)


def without_journal(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings for shards, each of which has a journal of its own."""
    return {name: value for name, value in settings.items() if name != "journal_file"}


def keep_record(run: Path, new: Path) -> None:
    """Gives the annotated files of a run its own run.json, so that its command still knows it."""
    record, annotated = record_of(run), read_object(new / "run.json")
    outputs = record["outputs"] | annotated["outputs"]
    write_text(new / "run.json", json.dumps({"annotated": True} | record | {"outputs": outputs}) + "\n")


def do_shards(
    task: str, settings: Mapping[str, Any], folder: Path, progress: Callable[[Progress], None] | None, crew: Crew
) -> list[Path]:
    """Has all shards done, each in a folder within `folder` or in the storage, and returns their folders. Raises Error
    if some are not finished."""
    place = (os.fspath(crew.storage), "/".join(folder.resolve().parts[-2:])) if crew.storage else None
    storage = Storage(*place) if place else None
    parts = settled(folder, crew.shards, storage)
    file, limit = os.fspath(settings["questions"]), settings.get("limit") or 0
    questions = len(_core.read_questions(file, limit, task == "expand"))
    with connected(crew.address) as ray:
        workers = crew.workers or capacity(ray, crew.gpus)
        units = read_units(folder, parts or crew.shards or EACH * workers, task == "annotate", storage)
        driver = Driver(ray, task, settings, units, questions, progress or ProgressView(), place)
        driver.drive(workers, crew.gpus)
    complain(units, driver.why)
    if storage is None:
        return [unit.folder for unit in units]
    with ThreadPoolExecutor(FETCHES) as threads:
        return list(threads.map(storage.bring, (unit.part for unit in units), (unit.folder for unit in units)))


def complain(units: Sequence[Unit], why: str) -> None:
    """Raises Error if shards are not finished. `why`: what is known where a shard itself does not say it."""
    if left := [unit for unit in units if not unit.finished]:
        why = left[0].why or why or "no worker came to it"
        raise Error(
            f"{len(left)} of {len(units)} shards are not finished; run again to go on; "
            f"the first: {left[0].folder}: {' '.join(why.split())}"
        )


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
