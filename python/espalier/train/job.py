"""One stage of training, from its options to its files."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import _core
from ..errors import MissingPart
from ..runs.progress import ProgressView
from .data import Data, read_data
from .options import GrpoOptions, TrainOptions
from .sampling import read_asked
from .source import source_of
from .stage import Trained

NEEDED = ("torch", "transformers", "trl", "accelerate", "peft")


def need_packages() -> None:
    """Raises MissingPart that names the first package that is not installed."""
    for name in NEEDED:
        try:
            version(name)
        except PackageNotFoundError:
            raise MissingPart(f"training needs the package {name}: pip install '.[train]' in a clone") from None


def need_one_process(options: TrainOptions) -> None:
    """Raises ValueError where several were started."""
    if (count := int(os.environ.get("WORLD_SIZE", "1"))) > 1:
        others = "trainers that take what `espalier export` writes run in several"
        raise ValueError(f"`train {options.stage}` runs in one process, {count} were started; {others}")


def train(options: TrainOptions, view: ProgressView | None = None) -> Trained:
    """Runs the stage of these options. A stopped one goes on from its last checkpoint, a finished one is recognised.

    Raises MissingPart, InputError for bad data or another training in the folder, ValueError for a bad option, and
    Error for too little memory, a loss that is no number or a disk that is full.
    """
    need_one_process(options)
    source = source_of(options.model)
    if isinstance(options, GrpoOptions):
        data: Data[Any] = read_asked(options)
    else:
        data = read_data(options.data, options.stage, options.record)
    need_packages()
    from .run import run  # it needs torch

    versions = {"espalier": str(_core.build_info()["version"]), "python": platform.python_version()}
    return run(options, source, data, versions | {name: version(name) for name in NEEDED}, view)
