"""Training: each stage turns the rows of runs into a better model.

The keywords of a stage are the fields of its options. All raise MissingPart, InputError for bad data, ValueError for a
bad option, and Error where training itself fails.
"""

from __future__ import annotations

from typing import Any

from ..runs.progress import ProgressView
from .job import train
from .options import (
    DpoOptions,
    GrpoOptions,
    PrmOptions,
    RftOptions,
    SftOptions,
    TrainOptions,
    ValueOptions,
    options_of,
)
from .rft import rft as train_in_rounds
from .stage import Trained

__all__ = [
    "DpoOptions",
    "GrpoOptions",
    "PrmOptions",
    "RftOptions",
    "SftOptions",
    "Trained",
    "ValueOptions",
    "dpo",
    "grpo",
    "prm",
    "rft",
    "run_stage",
    "sft",
    "value",
]


def run_stage(options: TrainOptions, progress: ProgressView | None = None) -> Trained:
    """Runs the stage of these options."""
    return train_in_rounds(options, progress) if isinstance(options, RftOptions) else train(options, progress)


def sft(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Fine-tunes a model on the SFT rows of runs."""
    return run_stage(options_of(SftOptions, options), progress)


def dpo(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Trains a model on the preference pairs of runs, step by step."""
    return run_stage(options_of(DpoOptions, options), progress)


def value(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Trains a value model on the value rows of runs: two heads, for plans and for searches."""
    return run_stage(options_of(ValueOptions, options), progress)


def prm(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Trains a process reward model on pairs of steps, or on shares of good completions."""
    return run_stage(options_of(PrmOptions, options), progress)


def rft(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Samples, keeps what is right, and fine-tunes, in rounds."""
    return run_stage(options_of(RftOptions, options), progress)


def grpo(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Trains a model on groups of trajectories that it samples itself."""
    return run_stage(options_of(GrpoOptions, options), progress)
