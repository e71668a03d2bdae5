"""Steps with a label each: TRL's PRMTrainer, which TRL had up to 1.13. It knows only good and bad. The values of the
steps are in another column, which it drops."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Steps


def good(solution: Steps, choices: Choices) -> list[bool]:
    least = solution.threshold if choices.threshold is None else choices.threshold
    return [value >= least for value in solution.values]


def rows(solution: Steps, choices: Choices) -> Iterator[Columns]:
    yield {
        **solution.origin.columns,
        "prompt": solution.prompt,
        "completions": list(solution.steps),
        "labels": good(solution, choices),
        "values": list(solution.values),
    }


FORMAT = Format("prm.stepwise", ("trl up to 1.13",), ("prm", "rollouts"), Steps, rows)
