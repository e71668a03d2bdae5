"""Rounds of expanding a model's trees and training the model on them."""

from __future__ import annotations

from typing import Any


def improve(**options: Any) -> dict[str, Any]:
    """Makes a model better in rounds: its trees, `train sft`, `train dpo`, answers to held-out questions.

    Returns the content of rounds.json. The keywords are the fields of `espalier.rounds.options.ImproveOptions`, and
    further settings of `espalier.expand`, such as `corpus`, for trees and answers alike. `sft` and `dpo` are mappings
    of options of training. Call it again with the same options to continue a stopped improvement. A step that is
    finished is recognised.

    Raises ValueError for a bad option, InputError for bad data or a folder that was begun with other options,
    MissingPart without the packages of training, and Error where a step fails.
    """
    from .loop import run_rounds
    from .options import improve_options

    return run_rounds(improve_options(options))


__all__ = ["improve"]
