"""Doing the runs of a plan, each by `answer`, which sees no gold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import Error
from ..runs.job import Job
from ..runs.progress import ProgressView
from .plan import Plan, PlannedRun


@dataclass(frozen=True)
class Outcome:
    """What became of a planned run."""

    run: PlannedRun
    summary: dict[str, Any]
    """The content of its summary.json; empty if it failed."""
    recognised: bool = False
    error: str | None = None


def do_runs(plan: Plan, view: Callable[[str], ProgressView], job: Job) -> list[Outcome]:
    """Does one run after the other with `job`, over one journal. A finished run is recognised.

    `view` makes what shows a run's progress, from a line that names the run. A run that fails does not lose the others:
    its error is raised only if no run succeeds.
    """
    outcomes: list[Outcome] = []
    first: Exception | None = None
    for number, run in enumerate(plan.runs, 1):
        with view(f"{run.name} ({number} of {len(plan.runs)})") as shown:
            try:
                result = job("answer", run.settings, shown)
                outcomes.append(Outcome(run, result.summary, result.recognised))
            except (Error, OSError, ValueError) as error:
                first = first or error
                outcomes.append(Outcome(run, {}, error=str(error)))
    if first and not any(outcome.summary for outcome in outcomes):
        raise first
    return outcomes
