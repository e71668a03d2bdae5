"""`--track`: trackers that hear of the run of a command."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeAlias

from ... import tracking
from ..._core import Progress
from ...errors import Error, InputError, did_you_mean, needed
from ...runs.job import Job, RunResult, run_job
from ...tracking import Sink, Tracker

Begin: TypeAlias = Callable[[Path], AbstractContextManager[Sink]]
"""Begins to track the run in a folder. The end of the context is the run's."""


def add_track_option(parser: argparse.ArgumentParser) -> None:
    usages = ", ".join(usage for usage, _ in KINDS.values())
    parser.add_argument_group("tracking").add_argument(
        "--track",
        action="append",
        default=[],
        metavar="TRACKER[=WHERE]",
        help=f"tell a tracker of the run: {usages}. It may be repeated",
    )


def tracked(
    texts: Sequence[str], scores: Callable[[RunResult], Mapping[str, float]] | None = None, run: Job = run_job
) -> Job:
    """`run` with trackers, which begin once the run has accepted its folder: not where it was finished before.

    They are told the `scores` of a run that has no open question. Raises ValueError, and MissingPart without a library.
    """
    if not texts:
        return run
    begins = [chosen(text) for text in texts]

    @contextmanager
    def named() -> Iterator[None]:
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            raise Error(f"--track {' '.join(texts)}: {error}") from error

    def job(task: str, settings: Mapping[str, Any], progress: Callable[[Progress], None] | None = None) -> RunResult:
        tracker: Tracker | None = None

        def tell(at: Progress) -> None:
            nonlocal tracker
            if progress is not None:
                progress(at)
            with named():
                if tracker is None:
                    folder = Path(settings["out"]).absolute()
                    tracker = Tracker(*(stack.enter_context(begin(folder)) for begin in begins))
                tracker(at)

        with redirect_stdout(sys.stderr), ExitStack() as stack:  # standard output is the command's, not a library's
            result = run(task, settings, tell)
            if tracker is not None and scores is not None and not result.open:
                figures = scores(result)
                with named():
                    tracker.tell(figures)
            return result

    return job


def chosen(text: str) -> Begin:
    name, _, where = text.partition("=")
    if name not in KINDS:
        hint = did_you_mean(name, KINDS) or f", allowed: {', '.join(KINDS)}"
        raise ValueError(f"--track: unknown tracker '{name}'{hint}")
    usage, begin = KINDS[name]
    if not where:
        raise ValueError(f"--track takes {usage}, not '{text}'")
    if name == "jsonl":
        path = Path(where).absolute()
        good = not path.is_dir() and os.access(path, os.W_OK)
        if not path.exists():
            with suppress(OSError), TemporaryFile(dir=path.parent):
                good = True
        if not good:
            raise InputError(f"--track {text}: is a folder, lies in none, or may not be written")
    elif name == "tensorboard":
        tracking.summary_writer()
    else:
        needed(name, f"--track {name}")
    return partial(begin, where)


def jsonl(file: str, folder: Path) -> AbstractContextManager[Sink]:
    return nullcontext(tracking.jsonl(file, folder.name))


def tensorboard(where: str, folder: Path) -> AbstractContextManager[Sink]:
    return nullcontext(tracking.tensorboard(Path(where) / folder.name))


@contextmanager
def wandb(project: str, folder: Path) -> Iterator[Sink]:
    # Figures alone: W&B would keep what the terminal shows as well.
    with import_module("wandb").init(project=project, name=folder.name, settings={"console": "off"}) as run:
        yield tracking.wandb(run)


@contextmanager
def mlflow(experiment: str, folder: Path) -> Iterator[Sink]:
    library = import_module("mlflow")
    library.set_experiment(experiment)
    with library.start_run(run_name=folder.name):
        yield tracking.mlflow()


@contextmanager
def trackio(project: str, folder: Path) -> Iterator[Sink]:
    library = import_module("trackio")
    library.init(project=project, name=folder.name)
    try:
        yield tracking.trackio()
    finally:
        library.finish()


KINDS: dict[str, tuple[str, Callable[[str, Path], AbstractContextManager[Sink]]]] = {
    "jsonl": ("jsonl=FILE", jsonl),
    "tensorboard": ("tensorboard=FOLDER", tensorboard),
    "wandb": ("wandb=PROJECT", wandb),
    "mlflow": ("mlflow=EXPERIMENT", mlflow),
    "trackio": ("trackio=PROJECT", trackio),
}
"""Trackers by name: how each is asked for, and what begins it."""
