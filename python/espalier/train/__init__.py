"""Training: each stage turns the rows of runs into a better model."""

from __future__ import annotations

from typing import Any

from ..runs.progress import ProgressView
from .job import Trained, train
from .options import options_of
from .stages.dpo import DPO, DpoOptions
from .stages.prm import PRM, PrmOptions
from .stages.sft import SFT, SftOptions
from .stages.value import VALUE, ValueOptions

__all__ = ["DpoOptions", "PrmOptions", "SftOptions", "Trained", "ValueOptions", "dpo", "prm", "sft", "value"]


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
