"""One stage of training from its options to its files."""

from __future__ import annotations

import logging
import platform
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..errors import InputError, MissingPart
from ..export.records import Record
from ..io.files import working
from ..runs.progress import ProgressView
from .data import Data, read_data
from .options import TrainOptions
from .processes import count, is_first, of_first
from .source import Source, source_of

log = logging.getLogger("espalier")
Opt = TypeVar("Opt", bound=TrainOptions)
R = TypeVar("R", bound=Record)

NEEDED = ("torch", "transformers", "trl", "accelerate", "peft")


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    out: Path
    steps: int
    loss: float | None
    """Of the last logged steps."""
    eval_loss: float | None
    """Of the held-out rows at the end, None without any."""
    recognised: bool = False
    """It had been finished before, and nothing was done."""


@dataclass
class Setup(Generic[Opt, R]):
    """All that a stage needs to make its trainer."""

    options: Opt
    data: Data[R]
    source: Source
    policy: Any
    """The Policy: model and tokenizer."""
    folder: Path
    """Gets checkpoints."""
    rate: float
    say: Callable[[str], None]
    notes: dict[str, Any] = field(default_factory=dict)
    """What training.json and the card say besides: the stage adds to it."""


@dataclass(frozen=True)
class Stage(Generic[Opt, R]):
    """What is special to a stage."""

    name: str
    product: str
    """The file of a run, without .jsonl."""
    record: type[R] | tuple[type[R], ...]
    texts: Callable[[R], str]
    """What a new tokenizer is trained on."""
    rate: Callable[[Source, Opt], float]
    """The learning rate where none is given."""
    trainer: Callable[[Setup[Opt, R]], Any]
    """Makes the trainer: a WholeCheckpoints. It says how long the rows are."""
    model: Callable[[Any], Any] = attrgetter("model")
    """Makes what is trained of the Policy: its model, or that with other outputs."""
    save: Callable[[Any, Setup[Opt, R], Path], None] | None = None
    """Writes the trained parts into a folder. None = the model and its tokenizer."""
    read: Callable[[Opt], Data[R]] | None = None
    """What it learns from. None = the rows of its product."""
    parallel: bool = True
    """Whether several processes may share it."""


def need_packages() -> None:
    """Raises MissingPart that names the first package that is not installed."""
    for name in NEEDED:
        try:
            version(name)
        except PackageNotFoundError:
            raise MissingPart(f"training needs the package {name}: pip install 'espalier-rag[train]'") from None


def versions() -> dict[str, str]:
    from .. import _core

    ours = {"espalier": str(_core.build_info()["version"]), "python": platform.python_version()}
    return ours | {name: version(name) for name in NEEDED}


def train(stage: Stage[Opt, R], options: Opt, view: ProgressView | None = None) -> Trained:
    """Runs a stage. A training that was stopped goes on from its last checkpoint, and a finished one is recognised.

    Raises MissingPart, InputError for bad data or another training in the folder, ValueError for a bad option, and
    Error for too little memory, a loss that is no number or a disk that is full.
    """
    if count() > 1 and not stage.parallel:
        raise ValueError(f"`train {stage.name}` runs in one process, {count()} were started")
    source = source_of(options.model)
    template = read_template(options.template)
    data = stage.read(options) if stage.read else read_data(options.data, stage.product, stage.record)
    need_packages()
    if not is_first():
        view = None  # one process speaks
    say = view.say if view else log.info if is_first() else log.debug
    out = Path(options.out)
    if source.path is not None and out.resolve() == source.path.resolve():
        raise InputError(f"option 'out': {out} is the model that the training begins with: name another folder")
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        # peft and TRL use the old names of transformers for what is not asked for here.
        warnings.filterwarnings("ignore", "`(is_)?gradient_checkpointing` is deprecated", FutureWarning)
        next_files = stack.enter_context(working(out, f"train {stage.name}")) if is_first() else out
        if view:
            stack.enter_context(view)
        plan = {"stage": stage.name, **options.plan, "model": source.name, "weights": source.hash}
        plan["data"] = [one.hash for one in data.inputs]
        from . import folder, run  # these need torch
        from .trainer import device_of

        on_gpu = device_of(options.device).type == "cuda"
        if of_first(lambda: folder.begin(out, plan, overwrite=options.overwrite), on_gpu=on_gpu):
            say(f"{out}: this training is finished")
            return run.recognised(out)
        trained = run.run(stage, options, source, data, template, out, next_files, say, view)
    if is_first():
        run.finish(out)
    return trained


def read_template(file: str) -> str:
    """The text of a chat template, '' for none. Raises InputError."""
    if not file:
        return ""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"option 'template': {file} cannot be read ({error})") from None
