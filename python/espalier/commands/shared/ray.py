"""`--ray`: a run whose shards are done by the workers of a Ray cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import partial
from typing import Any

from ..._core import Progress
from ...runs.job import Job, RunResult
from ...runs.ray_run import Crew, refuse, spread
from .config import Recorded
from .track import tracked

RAY_OPTIONS = ("ray", "workers", "shards", "gpus", "storage")


def add_ray_options(parser: argparse.ArgumentParser) -> None:
    ray = parser.add_argument_group("workers of Ray")
    ray.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="have the shards done by workers of a Ray cluster: auto, local, HOST:PORT or ray://HOST:PORT",
    )
    ray.add_argument("--workers", type=int, metavar="W", help="with --ray: how many (one for each processor)")
    ray.add_argument("--shards", type=int, metavar="N", help="with --ray: in how many shards (4 for each worker)")
    ray.add_argument("--gpus", type=float, metavar="G", help="with --ray: GPUs of each worker (0)")
    ray.add_argument(
        "--storage",
        metavar="ADDRESS",
        help="with --ray: do shards on the nodes' own disks, and copy them to this folder or address of fsspec",
    )


def job_of(arguments: argparse.Namespace, scores: Callable[[RunResult], Mapping[str, float]] | None = None) -> Job:
    """What does the runs of a line: this process, or workers of Ray. Trackers are told the `scores` of each."""
    if arguments.ray is None:
        for name in RAY_OPTIONS:
            if getattr(arguments, name) is not None:
                raise ValueError(f"option '--{name}' needs --ray")
        return tracked(arguments.track, scores)
    refuse(vars(arguments))
    crew = Crew(arguments.ray, arguments.workers, arguments.shards, arguments.gpus or 0, arguments.storage)
    job = tracked(arguments.track, scores, partial(spread, crew=crew))

    def by_workers(task: str, settings: Mapping[str, Any], view: Callable[[Progress], None] | None = None) -> RunResult:
        with redirect_stdout(sys.stderr):  # Ray tells of workers that died
            # The folder holds no run before the merge, and config.json is written beside a run.
            return job(task, settings, view.view if isinstance(view, Recorded) else view)

    return by_workers
