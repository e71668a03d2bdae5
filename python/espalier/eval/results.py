"""Methods side by side, as a folder of files: runs by `answer`, scores, what chance could have done, and costs."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from .._core import Question
from ..datasets import read_questions
from ..errors import Error
from ..io.files import working, write_jsonl, write_text
from ..io.terminal import say
from ..runs.given import given
from ..runs.job import Job, RunResult, run_job
from ..runs.progress import shown_as
from ..runs.summary import RARE, rare_counts, readable_share
from . import plots
from .budget import budget_report
from .formats import written
from .plan import Plan, PlannedRun
from .scores import COSTS, FOUND, METRICS, Row, own_profile, score_run
from .statistics import RESAMPLES, SEED, Floats, bootstrap_means, holm, interval, paired_test
from .tables import tables


def write_evaluation(plan: Plan, job: Job = run_job, *, quiet: bool = True) -> dict[str, Any]:
    """Does the runs of a plan and writes every file of an evaluation. Returns the content of eval.json."""
    # A model in this process is loaded once for all runs.
    with working(plan.out, "espalier eval") as new, given(plan.runs[0].settings):
        result = evaluate_plan(plan, job, new, quiet=quiet)
        for name, text in written(result, tables(result)).items():
            write_text(new / name, text)
    if plots.available():
        plots.write_plots(result, plan.out / "plots")
    return result


@dataclass(frozen=True)
class Outcome:
    """What became of a planned run."""

    run: PlannedRun
    summary: dict[str, Any]
    """The content of its summary.json; empty if it failed."""
    recognised: bool = False
    error: str | None = None


def do_runs(plan: Plan, job: Job, *, quiet: bool) -> list[Outcome]:
    """Does one run after the other with `job`, over one journal. A finished run is recognised.

    Each run's progress is shown below a line that names it, unless `quiet`. A run that fails does not lose the others:
    its error is raised only if no run succeeds.
    """
    outcomes: list[Outcome] = []
    first: Exception | None = None
    for number, run in enumerate(plan.runs, 1):
        if not quiet:
            say(f"{run.name} ({number} of {len(plan.runs)})", to=sys.stderr)
        with shown_as(quiet=quiet) as shown:
            try:
                result = job("answer", run.settings, shown)
                outcomes.append(Outcome(run, result.summary, result.recognised))
            except (Error, OSError, ValueError) as error:
                first = first or error
                outcomes.append(Outcome(run, {}, error=str(error)))
    if first and not any(outcome.summary for outcome in outcomes):
        raise first
    return outcomes


def mean(rows: Sequence[Row], column: str) -> float | None:
    """The mean over the rows that have a value, None if none has."""
    values = [row[column] for row in rows if row[column] is not None]
    return math.fsum(values) / len(values) if values else None


def score_means(rows: Sequence[Row], profile: str = "common") -> dict[str, float]:
    """Over all rows: a question without an answer counts as 0."""
    return {metric: math.fsum(row["profiles"][profile][metric] for row in rows) / len(rows) for metric in METRICS}


def by_hops(rows: Sequence[Row]) -> list[Row]:
    """Means for the questions of each hop count. Unknown counts are under 0."""
    ordered = sorted(rows, key=lambda row: int(row["hops"]))
    groups = [(hops, list(group)) for hops, group in groupby(ordered, key=lambda row: int(row["hops"]))]
    return [
        {"hops": hops, "questions": len(group), **score_means(group), "calls": mean(group, "calls")}
        for hops, group in groups
    ]


def replies(summary: Mapping[str, Any]) -> dict[str, dict[str, int | float | None]]:
    """What became of the completions of each purpose, and of "all" together: calls, readable share, rare counts."""
    purposes = summary["by_purpose"]
    groups = {**{name: [cost] for name, cost in purposes.items() if cost["calls"]}, "all": list(purposes.values())}
    return {
        name: {
            "calls": sum(cost["calls"] for cost in costs),
            "readable": readable_share(costs),
            **(dict.fromkeys(RARE, 0) | rare_counts(costs)),
        }
        for name, costs in groups.items()
    }


def describe(outcome: Outcome, rows: Sequence[Row], budget: Mapping[str, float]) -> Row:
    """All figures of one run but those that need the other runs."""
    summary, own = outcome.summary, own_profile(outcome.run.method)
    return {
        "name": outcome.run.name,
        "method": outcome.run.method,
        "point": outcome.run.point,
        "status": "open" if summary["open"] else "done",
        "error": None,
        "simulated": summary["simulated"],
        "questions": len(rows),
        "open": summary["open"],
        "null_predictions": sum(row["answer"] is None for row in rows),
        "failed": summary["failed"],
        "readable": readable_share(summary["by_purpose"].values()),
        "replies": replies(summary),
        "stopped_by_budget": summary["budget"],
        **score_means(rows),
        "own_profile": own,
        "profiles": {profile: score_means(rows, profile) for profile in rows[0]["profiles"]},
        **{name: mean(rows, name) for name in (*FOUND, *COSTS)},
        "run_seconds": summary["seconds"],
        "by_hops": by_hops(rows),
        "budget": budget_report(budget, rows),
    }


def failed(name: str, error: str, point: tuple[str, str] | None = None) -> Row:
    return {"name": name, "point": point, "status": "failed", "error": error}


def add_statistics(runs: Sequence[Row], scores: Mapping[str, Floats], baseline: str) -> None:
    """Adds intervals to the runs' scores, and to those of the tables what paired differences are worth."""
    names = [run["name"] for run in runs]
    base = names.index(baseline)
    others = [i for i, run in enumerate(runs) if i != base and run["point"] is None]
    every = np.stack([scores[name] for name in names], axis=1)  # [metrics, runs, questions]
    drawn = bootstrap_means(every.reshape(-1, every.shape[-1])).reshape(-1, len(METRICS), len(runs))
    for i, run in enumerate(runs):
        run |= {"intervals": {}, "against_baseline": {} if i in others else None}
    for number, metric in enumerate(METRICS):
        values, means = every[number], drawn[:, number]
        for i, run in enumerate(runs):
            run["intervals"][metric] = interval(means[:, i])
        tests = [paired_test(values[i], values[base], means[:, i] - means[:, base]) for i in others]
        for i, test, adjusted in zip(others, tests, holm([test["p"] for test in tests]), strict=True):
            runs[i]["against_baseline"][metric] = {**test, "p_holm": adjusted}


def questions_of(plan: Plan) -> list[Question]:
    common = plan.runs[0].settings
    return read_questions(common["questions"], limit=common.get("limit") or 0, require_gold=True)


def final_scores(plan: Plan, result: RunResult) -> dict[str, float]:
    """What trackers hear at the end of one of its runs."""
    return score_means(score_run(result.out, questions_of(plan), plan.price))


def evaluate_plan(plan: Plan, job: Job, out: Path, *, quiet: bool) -> Row:
    """Has `job` do the runs of a plan, writes eval.json and scores.jsonl into `out`. Returns what eval.json holds."""
    questions = questions_of(plan)
    outcomes = do_runs(plan, job, quiet=quiet)
    runs: list[Row] = []
    scores: dict[str, Floats] = {}

    def scored() -> Iterator[Row]:
        """Rows as they are made, a run at a time: those of all runs may not fit into memory."""
        for outcome in outcomes:
            name, error = outcome.run.name, outcome.error
            rows: list[Row] = []
            if error is None:
                try:
                    rows = score_run(plan.out / "runs" / name, questions, plan.price)
                except Error as damage:
                    error = str(damage)
            if error is not None:
                runs.append(failed(name, error, outcome.run.point))
                continue
            runs.append(describe(outcome, rows, plan.budget))
            scores[name] = np.array([[float(row[metric]) for row in rows] for metric in METRICS])
            yield from ({"run": name, **row} for row in rows)

    write_jsonl(out / "scores.jsonl", scored())
    runs += [failed(name, error) for name, error in plan.refused.items()]
    compared = [run for run in runs if run["status"] != "failed" and run["point"] is None]
    if not compared:
        raise Error(f"no method finished: {next(run['error'] for run in runs if run['error'])}")
    baseline = plan.baseline
    if baseline is None or baseline not in scores:
        baseline = str(max(compared, key=lambda run: float(run["f1"]))["name"])
    add_statistics([run for run in runs if run["status"] != "failed"], scores, baseline)
    first = next(outcome for outcome in outcomes if outcome.summary)
    result = {
        "questions": len(questions),
        "question_file": str(plan.runs[0].settings["questions"]),
        "model": first.summary["model"],
        "simulated": first.summary["simulated"],
        "retriever": first.summary["retriever"],
        "budget": plan.budget,
        "price": plan.price,
        "baseline": baseline,
        "baseline_asked_for": plan.baseline,
        "resamples": RESAMPLES,
        "resampling_seed": SEED,
        "runs": runs,
    }
    write_text(out / "eval.json", json.dumps(result, ensure_ascii=False, indent=1) + "\n")
    return result
