"""Training: each stage turns the rows of runs into a better model."""

from __future__ import annotations

from typing import Any

from ..runs.progress import ProgressView
from .job import Trained, train
from .options import options_of
from .stages.dpo import DPO, DpoOptions
from .stages.sft import SFT, SftOptions

__all__ = ["DpoOptions", "SftOptions", "Trained", "dpo", "sft"]


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
