"""A run in experiment trackers: its figures while it goes on.

    espalier.expand(..., out="run", progress=Tracker(wandb(run), jsonl("progress.jsonl")))

A sink is any function of (figures, question): names with numbers, and how many questions are done. Those below import
their library when they are made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from .._core import Progress
from ..errors import needed
from ..gone import absent
from ..io.files import naming

__all__ = ["Sink", "Tracker", "jsonl", "mlflow", "tensorboard", "trackio", "wandb"]
if not TYPE_CHECKING:
    __getattr__ = absent(__name__)

Sink: TypeAlias = Callable[[Mapping[str, float], int], object]
FIGURES = ("questions_done", "questions", "calls", "tokens", "best_reward", "seconds")


class Tracker:
    """Tells sinks how far a run is: a `progress` of `expand` and `answer`, also of several runs one after the other.

    An exception of a sink stops the run, which can be continued.
    """

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks
        self._told: int | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.questions_done != self._told:
            self._told = progress.questions_done
            self.tell({name: getattr(progress, name) for name in FIGURES})

    def tell(self, figures: Mapping[str, float]) -> None:
        """Tells sinks further figures, such as scores, at the number of questions that are done."""
        named = {f"espalier/{name}": float(number) for name, number in figures.items()}
        for sink in self._sinks:
            sink(named, self._told or 0)


def jsonl(file: str | os.PathLike[str], run: str | None = None) -> Sink:
    """Lines of JSON, appended to a file. Each names its `run`, if that has a name."""
    name = {} if run is None else {"run": run}

    def opener(path: str, flags: int) -> int:  # waits for no reader of a pipe
        found = os.open(path, flags | os.O_NONBLOCK, 0o666)
        os.set_blocking(found, True)
        return found

    def write(figures: Mapping[str, float], question: int) -> None:
        with naming(file), open(file, "a", encoding="utf-8", newline="\n", opener=opener) as stream:
            stream.write(json.dumps({**name, **figures}) + "\n")

    return write


def wandb(run: Any = None) -> Sink:
    """A run of Weights & Biases: the one that is given, or the one that `wandb.init` began."""
    if run is None:
        import wandb as library

        run = library.run
        if run is None:
            raise ValueError("wandb: there is no run; call wandb.init() first, or give one")
    return lambda figures, question: run.log(dict(figures), step=question)


def mlflow() -> Sink:
    """The active run of MLflow."""
    import mlflow as library

    return lambda figures, question: library.log_metrics(dict(figures), step=question)


def tensorboard(folder: str | os.PathLike[str]) -> Sink:
    """A folder of TensorBoard's, written by torch or by tensorboardX."""
    writer = summary_writer()(os.fspath(folder))

    def write(figures: Mapping[str, float], question: int) -> None:
        for name, number in figures.items():
            writer.add_scalar(name, number, question)
        writer.flush()

    return write


def summary_writer() -> Any:
    """The class that writes TensorBoard's files."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return needed("tensorboardX", "TensorBoard").SummaryWriter
    return SummaryWriter


def trackio() -> Sink:
    """The run that `trackio.init` began."""
    import trackio as library

    return lambda figures, question: library.log(dict(figures), step=question)
