"""Training: each stage turns the rows of runs into a better model."""

from __future__ import annotations

from typing import Any

from ..runs.progress import ProgressView
from .job import Trained, train
from .options import options_of
from .stages.dpo import DPO, DpoOptions
from .stages.grpo import GRPO, GrpoOptions
from .stages.prm import PRM, PrmOptions
from .stages.rft import RftOptions
from .stages.rft import rft as run_rft
from .stages.sft import SFT, SftOptions
from .stages.value import VALUE, ValueOptions

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
    "sft",
    "value",
]


def sft(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Fine-tunes a model on the SFT rows of runs. The keywords are the fields of SftOptions.

    Raises MissingPart, InputError for bad data, ValueError for a bad option, and Error where training itself fails.
    """
    return train(SFT, options_of(SftOptions, options), progress)


def dpo(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Trains a model on the preference pairs of runs, step by step. The keywords are the fields of DpoOptions.

    Raises as sft does.
    """
    return train(DPO, options_of(DpoOptions, options), progress)


def value(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Trains a value model on the value rows of runs: two heads, for plans and for searches. The keywords are the
    fields of ValueOptions.

    Raises as sft does.
    """
    return train(VALUE, options_of(ValueOptions, options), progress)


def prm(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Trains a process reward model on pairs of steps. The keywords are the fields of PrmOptions.

    Raises as sft does.
    """
    return train(PRM, options_of(PrmOptions, options), progress)


def rft(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Samples, keeps what is right, and fine-tunes, in rounds. The keywords are the fields of RftOptions.

    Raises as sft does.
    """
    return run_rft(options_of(RftOptions, options), progress)


def grpo(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Trains a model on groups of trajectories that it samples itself. The keywords are the fields of GrpoOptions.

    Raises as sft does.
    """
    return train(GRPO, options_of(GrpoOptions, options), progress)
