"""`--ray`: a run whose shards are done by the workers of a Ray cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from ...runs.job import RunResult
from ...runs.ray_run import spread
from .config import Recorded
from .track import tracked

RAY_OPTIONS = ("ray", "workers", "shards", "gpus")


def add_ray_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="spread the run over the workers of a Ray cluster: auto, local, HOST:PORT or ray://HOST:PORT",
    )
    parser.add_argument("--workers", type=int, metavar="W", help="with --ray: how many (one for each processor)")
    parser.add_argument("--shards", type=int, metavar="N", help="with --ray: in how many shards (4 for each worker)")
    parser.add_argument("--gpus", type=float, metavar="G", help="with --ray: GPUs of each worker (0)")


def job_of(arguments: argparse.Namespace) -> Callable[[str, dict[str, Any], Recorded], RunResult]:
    """What does the run of a line: this process, or workers of Ray."""
    if arguments.ray is None:
        for name in RAY_OPTIONS:
            if getattr(arguments, name) is not None:
                raise ValueError(f"option '--{name}' needs --ray")
        return tracked(arguments.track)
    chosen = {"address": arguments.ray, "workers": arguments.workers, "shards": arguments.shards}
    job = tracked(arguments.track, run=partial(spread, **chosen, gpus=arguments.gpus or 0))
    # The folder holds no run before the merge, and config.json is written beside a run.
    return lambda task, settings, recorded: job(task, settings, recorded.view)
