"""A run whose shards are tasks of a Ray cluster, and merged."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any, cast
from uuid import uuid4

from .. import _core
from .._core import Progress
from ..errors import Error, InputError, MissingPart
from ..io.files import read_object, record_of, write_text
from .job import RunResult, check, run_job
from .merge import merge, read_shard
from .progress import log

OWN = ("shard", "journal_file", "overwrite")
"""Settings that each task has of its own."""
CARRIED = re.compile(r"OPENAI_API_KEY|SSL_CERT_FILE|(http|https|all|no)_proxy|FSSPEC_.*", re.I)
"""Variables of the driver's environment that a task needs: its own is that of its node."""


def ray_run(
    task: str,
    *,
    address: str = "auto",
    shards: int | None = None,
    gpus: float = 0,
    shards_to: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> RunResult:
    """Does `expand` or `answer` in shards, as tasks of a Ray cluster, and merges the shards into the folder `out`.

    `address` is "auto" (the cluster of this machine or of RAY_ADDRESS), "local" (a new one in this machine),
    "HOST:PORT" or "ray://HOST:PORT". A program that is connected to Ray stays connected as it is. `shards` = None: four
    for each processor of the cluster, or those that the folder has. `gpus`: how many a task gets, for a model that runs
    in its process. `settings` are those of the task.

    `out` must be the same folder on all nodes, unless `shards_to` is an address of fsspec such as "s3://bucket/run":
    tasks do shards on their nodes' own disks then, and copy finished ones there. Call it again with the same settings
    to continue a run that was stopped. Raises Error if shards are not finished, MissingPart without Ray.
    """
    if task not in ("expand", "answer"):
        raise ValueError(f"'{task}' cannot be spread by Ray, allowed: expand, answer")
    refuse(settings, address, shards, gpus)
    check(task, {**settings, "shard": "1/2"})
    out = Path(settings["out"])
    held = _core.WorkFolder(out, f"espalier {task} --ray")
    try:
        if done := (out / "run.json").exists():
            if "outputs" not in record_of(out):
                raise InputError(f"{out}: holds a run that was begun without Ray: name another folder")
        else:
            with connected(address) as ray:
                to = None if shards_to is None else os.fspath(shards_to)
                folders = do_shards(ray, task, settings, shards, gpus, to, progress)
    finally:
        held.release()
    return run_job(task, settings, progress) if done else merge(folders, out=out)  # merged before: it is recognised


def refuse(settings: Mapping[str, Any], address: str, shards: int | None, gpus: float) -> None:
    """Raises ValueError for what cannot be spread."""
    if not re.fullmatch(r"auto|local|(ray://)?\S+:\d+", address):
        raise ValueError(f"option 'ray' is '{address}', allowed: auto, local, HOST:PORT or ray://HOST:PORT")
    if shards is not None and shards < 1:
        raise ValueError(f"option 'shards' is {shards}, allowed: 1 or more")
    if not 0 <= gpus <= 1 << 20:
        raise ValueError(f"option 'gpus' is {gpus}, allowed: a number from 0")
    for name in OWN:
        if settings.get(name):
            raise ValueError(f"option '{name}' is not allowed with Ray: each shard has its own")


def do_shards(
    ray: ModuleType,
    task: str,
    settings: Mapping[str, Any],
    wanted: int | None,
    gpus: float,
    to: str | None,
    progress: Callable[[Progress], None] | None,
) -> list[Path]:
    """Has all shards done and returns their folders. Raises Error if some are not finished."""
    work = Path(settings["out"]) / "shards"
    noted = read_object(work / "shards.json")["shards"] if (work / "shards.json").exists() else None
    if noted and wanted not in (None, noted):
        raise InputError(f"{work}: holds a run in {noted} shards, not {wanted} (option 'shards')")
    has = ray.cluster_resources()
    places = has.get("GPU", 0) / gpus if gpus else has.get("CPU", 1)
    count = noted or wanted or 4 * max(1, int(places))
    work.mkdir(exist_ok=True)
    write_text(work / "shards.json", json.dumps({"shards": count}) + "\n")
    folders = {part: work / f"shard-{part}" for part in range(1, count + 1)}
    each = {part: {**settings, "shard": f"{part}/{count}", "out": str(folders[part])} for part in folders}
    carried = {name: value for name, value in os.environ.items() if CARRIED.fullmatch(name)}
    of_driver = (str(Path.cwd()), carried, _core.build_info()["version"], to)
    questions = len(_core.read_questions(str(settings["questions"]), settings.get("limit") or 0, task == "expand"))
    start, figures = time.monotonic(), Counter[str]()
    why: dict[int, str] = {}
    """Why shards are not finished."""

    def tell(summary: Mapping[str, Any]) -> None:
        figures["questions_done"] += summary["questions"]
        figures["calls"] += summary["calls"]
        figures["tokens"] += summary["prompt_tokens"] + summary["completion_tokens"]
        if progress is not None:  # as a run tells its own
            rest = {"best_reward": 0.0, "seconds": time.monotonic() - start, "trouble": "", "probes": None}
            progress(cast(Progress, SimpleNamespace(questions=questions, **figures, **rest)))

    def run(parts: Sequence[int]) -> None:
        begin = ray.remote(do_shard).options(num_gpus=gpus, max_retries=10, scheduling_strategy="SPREAD")
        pending = {begin.remote(task, each[part], *of_driver): part for part in parts}
        try:
            while pending:
                (ref,), _ = ray.wait(list(pending), num_returns=1)
                part = pending.pop(ref)
                try:
                    result: RunResult = ray.get(ref)
                    tell(result.summary)
                    said = result.why_open
                except ray.exceptions.RayTaskError as error:
                    said = str(error.cause) or type(error.cause).__name__
                except ray.exceptions.RayError as error:
                    said = f"its worker was lost: {error}"
                if said:
                    why[part] = " ".join(said.split())
                    log.warning("%s: is not finished: %s", folders[part], why[part])
        finally:
            for ref in pending:
                ray.cancel(ref, force=True)

    finished = [part for part, folder in folders.items() if is_finished(folder, to)]
    for part in finished:
        tell(read_object(folders[part] / "summary.json"))
    begun = [part for part in folders if part not in finished and (folders[part] / "run.json").exists()]
    fresh = [part for part in folders if part not in [*finished, *begun]]
    if finished:
        run_job(task, each[finished[0]])  # it asks nothing, and refuses other options
    elif begun:
        run(begun)  # they refuse other options before anything new is begun
        begun = []
    if why:
        why |= dict.fromkeys(fresh, "it was not begun")
    else:
        run([*begun, *fresh])
    if why:
        left = f"{len(why)} of {count} shards are not finished; run again to go on; the first"
        raise Error(f"{left}: {folders[min(why)]}: {why[min(why)]}")
    if missing := [folder for folder in folders.values() if not is_finished(folder, to)]:
        raise Error(f"{missing[0]}: a task finished it, and this machine does not find it")
    return list(folders.values())


def do_shard(
    task: str, settings: Mapping[str, Any], folder: str, environment: Mapping[str, str], version: str, to: str | None
) -> RunResult:
    """Does a shard, as a task of Ray that works where the driver does. It goes on where an earlier one was stopped."""
    if (own := _core.build_info()["version"]) != version:
        raise Error(f"{socket.gethostname()} has Espalier {own}, not {version}")
    os.chdir(folder)
    os.environ.update(environment)
    if to is None:
        return run_alone(task, settings)
    with TemporaryDirectory(prefix="espalier-") as disk:
        shard = Path(disk) / Path(settings["out"]).name
        result = run_alone(task, {**settings, "out": str(shard)})
        if not result.open:
            keep(shard, to)
    return result


def run_alone(task: str, settings: Mapping[str, Any]) -> RunResult:
    """Waits a minute for a task that Ray has lost, and that may live a little longer in the folder."""
    end = time.monotonic() + 60
    while True:
        try:
            return run_job(task, settings)
        except InputError as error:
            if "this folder is in use" not in str(error) or time.monotonic() > end:
                raise
        time.sleep(0.5)


def files_at(address: str) -> tuple[Any, str]:
    """The files at an address of fsspec, and the path there."""
    try:
        from fsspec.core import url_to_fs

        files, root = url_to_fs(address)
    except ImportError as error:
        raise MissingPart(f"option 'shards-to' needs a package that is missing: {error}") from None
    return files, root.rstrip("/")


def keep(folder: Path, address: str) -> None:
    """Copies a finished shard. The file that ends in .whole comes last: no copy is read half, and no two mix."""
    files, root = files_at(address)
    copy = f"{root}/{folder.name}-{uuid4().hex}"
    files.makedirs(copy, exist_ok=True)
    files.put([str(file) for file in folder.iterdir()], f"{copy}/")
    files.touch(f"{copy}.whole")


def is_finished(folder: Path, to: str | None) -> bool:
    """Whether a shard is. It is fetched where a copy is to be had."""
    if to is not None and not folder.exists():
        files, root = files_at(to)
        files.invalidate_cache()
        for whole in sorted(files.glob(f"{root}/{folder.name}-*.whole"))[:1]:
            with TemporaryDirectory(dir=folder.parent) as part:
                files.get(f"{whole.removesuffix('.whole')}/", f"{part}/{folder.name}/", recursive=True)
                (Path(part) / folder.name).rename(folder)
    try:
        read_shard(folder)
    except (InputError, OSError):
        return False
    return True


@contextmanager
def connected(address: str) -> Iterator[ModuleType]:
    """Ray, connected until the end of the block. Raises MissingPart or Error."""
    try:
        import ray
    except ImportError as error:
        raise MissingPart(f"--ray needs Ray (pip install ray fsspec): {error}") from None
    if ray.is_initialized():
        yield ray
        return
    try:
        if found := re.fullmatch(r"(?:ray://)?(\S+):(\d+)", address):  # Ray itself tries for minutes
            socket.create_connection((found[1], int(found[2])), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # of many kinds, among them another version of Ray or of Python
        raise Error(f"option 'ray': {address}: {' '.join(str(error).split())}") from None
    try:
        yield ray
    finally:
        ray.shutdown()
