"""Training: each stage turns the rows of runs into a better model.

The keywords of a stage are the fields of its options. All raise MissingPart, InputError for bad data, ValueError for a
bad option, and Error where training itself fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runs.progress import ProgressView
from .job import train
from .options import DpoOptions, GrpoOptions, PrmOptions, RftOptions, SftOptions, TrainOptions, ValueOptions, options_of
from .rft import rft as sample_and_train
from .stage import Trained

__all__ = [
    "DpoOptions", "GrpoOptions", "PrmOptions", "RftOptions", "SftOptions", "Trained", "ValueOptions", "dpo", "grpo",
    "prm", "rft", "run_stage", "sft", "value",
]  # fmt: skip


def run_stage(options: TrainOptions, progress: ProgressView | None = None) -> Trained:
    """Runs the stage of these options."""
    return sample_and_train(options, progress) if isinstance(options, RftOptions) else train(options, progress)


def stage_of(kind: type[TrainOptions]) -> Callable[..., Trained]:
    """The function of a stage."""

    def stage(*, progress: ProgressView | None = None, **options: Any) -> Trained:
        return run_stage(options_of(kind, options), progress)

    stage.__name__ = stage.__qualname__ = kind.stage
    stage.__doc__ = f"{kind.summary} The keywords are the fields of {kind.__name__}."
    return stage


sft, dpo, value = stage_of(SftOptions), stage_of(DpoOptions), stage_of(ValueOptions)
prm, rft, grpo = stage_of(PrmOptions), stage_of(RftOptions), stage_of(GrpoOptions)
