"""Options that are passed on to `train sft` and `train dpo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..train.options import described, options_of

OWN = ("data", "model", "out", "overwrite")
"""Options of training that the loop sets itself."""


def training_options(stage: str, kind: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a stage of training, where texts become numbers. Raises ValueError that names stage and option."""
    known = {one.name: one.default for one in described(kind)}
    chosen = {}
    try:
        for option, value in given.items():
            name = option.replace("-", "_")
            if name in OWN:
                raise ValueError(f"option '{option}' is set by the loop itself")
            chosen[name] = (
                value if not isinstance(value, str) or name not in known else number(option, value, known[name])
            )
        options_of(kind, {"data": "-", "model": "-", "out": "-", **chosen})
    except ValueError as error:
        raise ValueError(f"{stage}: {error}") from None
    return chosen


def number(option: str, text: str, default: Any) -> Any:
    """The text as a value of the default's type."""
    try:
        return type(default)(text)
    except ValueError:
        raise ValueError(f"option '{option}': {text} is not allowed, must be a number") from None
