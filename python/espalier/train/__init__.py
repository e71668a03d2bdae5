"""Training: each stage turns the rows of runs into a better model."""

from __future__ import annotations

from typing import Any

from ..runs.progress import ProgressView
from .job import Trained, train
from .options import options_of
from .stages.sft import SFT, SftOptions

__all__ = ["SftOptions", "Trained", "sft"]


def sft(*, progress: ProgressView | None = None, **options: Any) -> Trained:
    """Fine-tunes a model on the SFT rows of runs. The keywords are the fields of SftOptions.

    Raises MissingPart, InputError for bad data, ValueError for a bad option, and Error where training itself fails.
    """
    return train(SFT, options_of(SftOptions, options), progress)
