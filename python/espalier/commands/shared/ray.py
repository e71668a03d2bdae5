"""`--ray`: a run whose shards are tasks of a Ray cluster."""

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any

from ..._core import Progress
from ...runs.job import Job, RunResult
from ...runs.ray_run import OWN, ray_run, refuse
from .config import Recorded
from .track import add_track_option, tracked

RAY_OPTIONS = ("ray", "shards", "gpus", "shards_to")


def add_job_options(parser: argparse.ArgumentParser) -> None:
    add_track_option(parser)
    ray = parser.add_argument_group("tasks of Ray")
    ray.add_argument("--ray", metavar="ADDRESS", help="a Ray cluster: auto, local, HOST:PORT or ray://HOST:PORT")
    ray.add_argument("--shards", type=int, metavar="N", help="with --ray: how many (4 for each processor)")
    ray.add_argument("--gpus", type=float, metavar="G", help="with --ray: of each task (0)")
    ray.add_argument("--shards-to", metavar="ADDRESS", help="with --ray: of fsspec, gets finished shards (DIR/shards)")


def job_of(arguments: argparse.Namespace, scores: Callable[[RunResult], Mapping[str, float]] | None = None) -> Job:
    """What does the runs of a line: this process, or tasks of Ray. Trackers are told the `scores` of each."""
    if arguments.ray is None:
        for name in RAY_OPTIONS:
            if getattr(arguments, name) is not None:
                raise ValueError(f"option '--{name.replace('_', '-')}' needs --ray")
        return tracked(arguments.track, scores)
    to, gpus = arguments.shards_to, arguments.gpus or 0
    refuse(vars(arguments), arguments.ray, arguments.shards, gpus)

    def spread(task: str, settings: Mapping[str, Any], view: Callable[[Progress], None] | None = None) -> RunResult:
        own = {name: value for name, value in settings.items() if name not in OWN}
        place = f"{to}/{own['out'].rpartition('/')[2]}" if to and "methods" in arguments else to
        more = {"address": arguments.ray, "shards": arguments.shards, "gpus": gpus, "shards_to": place}
        return ray_run(task, progress=view, **more, **own)

    job = tracked(arguments.track, scores, spread)

    def by_tasks(task: str, settings: Mapping[str, Any], view: Callable[[Progress], None] | None = None) -> RunResult:
        with redirect_stdout(sys.stderr):  # Ray tells of workers that died
            # The folder holds no run before the merge, and config.json is written beside a run.
            return job(task, settings, view.view if isinstance(view, Recorded) else view)

    return by_tasks
