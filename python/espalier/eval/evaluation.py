"""An evaluation as a folder of files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..io.files import working, write_text
from ..runs.given import given
from ..runs.job import Job, run_job
from ..runs.progress import ProgressView, shown_as
from . import plots
from .formats import written
from .plan import Plan
from .results import evaluate_plan
from .tables import tables


def views(*, quiet: bool) -> Callable[[str], ProgressView]:
    """Shows each run's progress below a line that names it."""

    def view(title: str) -> ProgressView:
        if not quiet:
            print(title, file=sys.stderr)
        return shown_as(quiet=quiet)

    return view


def write_evaluation(plan: Plan, job: Job = run_job, *, quiet: bool = True) -> dict[str, Any]:
    """Does the runs of a plan and writes every file of an evaluation. Returns the content of eval.json."""
    # A model in this process is loaded once for all runs.
    with working(plan.out, "espalier eval") as new, given(plan.runs[0].settings):
        result = evaluate_plan(plan, views(quiet=quiet), job, new)
        for name, text in written(result, tables(result)).items():
            write_text(new / name, text)
    if plots.available():
        plots.write_plots(result, plan.out / "plots")
    return result
