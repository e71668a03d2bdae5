"""Methods compared at equal cost, and runs compared question by question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._core import metric_profiles, score


def evaluate(
    methods: str | Sequence[str],
    *,
    budget: str | None = None,
    baseline: str | None = None,
    sweep: Sequence[str] = (),
    **settings: Any,
) -> dict[str, Any]:
    """Answers questions by several methods and compares them. Returns the content of eval.json.

    `methods` are names or "all". `budget` ("calls=200"), `baseline` and `sweep` (["decex.n=2,4"]) are as on the command
    line. Settings are those of `espalier.answer`. In `set`, "METHOD.option" is an option of one method, and "price_in"
    and "price_out" are the prices. Run it again with the same settings to continue a stopped evaluation.
    """
    from .plan import make_plan
    from .results import write_evaluation

    return write_evaluation(make_plan(methods, settings, budget=budget, baseline=baseline, sweep=sweep))


def compare(a: str | Path, b: str | Path, *, questions: str | Path | None = None) -> dict[str, Any]:
    """Two runs of `expand`, `answer` or an evaluation, question by question, in the common profile.

    Rows stand in this order: those whose scores differ, those whose answers differ, the others. The summary has the
    difference B - A of each score with its paired bootstrap interval and the p of a sign-flip test.
    `questions` is the file with gold answers if it is no longer where the runs found it. Raises InputError if the runs
    are over different questions, naming what differs.
    """
    from .side_by_side import compare_runs

    return compare_runs(Path(a), Path(b), questions)


__all__ = ["compare", "evaluate", "metric_profiles", "score"]
__dir__ = __all__.copy
