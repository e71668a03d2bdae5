"""A solution with a placeholder after each step: OpenRLHF up to 0.9.5, checkpoints in the style of Math-Shepherd."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Steps
from .prm_stepwise import good

PLACEHOLDER = "ки"


def rows(solution: Steps, choices: Choices) -> Iterator[Columns]:
    if any(PLACEHOLDER in text for text in (solution.prompt, *solution.steps)):
        raise ValueError(f"row '{solution.origin.id}' holds the placeholder '{PLACEHOLDER}' in its text")
    yield {
        **solution.origin.columns,
        "input": solution.prompt + "".join(f"\n{step} {PLACEHOLDER}" for step in solution.steps),
        "label": ["+" if label else "-" for label in good(solution, choices)],
        "value": list(solution.values),
    }


FORMAT = Format("prm.placeholder", ("openrlhf up to 0.9.5",), ("prm", "rollouts"), Steps, rows)
