"""`espalier eval` and `espalier compare`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .. import _core
from .._estimate import COUNTS, simulated_estimate
from .._files import write_text
from .._job import Job, run_job
from .._progress import ProgressView, shown_as
from .._read import count_passages
from .._summary import table
from ..commands.config import write_config
from ..commands.dry_run import GUESS, estimate_row
from ..commands.track import tracked
from . import plots
from .formats import to_markdown, written
from .plan import Plan, make_plan
from .results import evaluate_plan, final_scores
from .side_by_side import compare_runs, comparison_tables
from .tables import tables


def planned(plan: Plan, settings: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """What would be run, the inputs read and checked, with an estimate of each run's cost."""
    questions = len(_core.read_questions(settings["questions"], settings.get("limit") or 0, True))
    estimates = [
        estimate_row(simulated_estimate("answer", run.settings), questions, run.settings["set"]) for run in plan.runs
    ]
    return {
        "config": config,
        "questions": questions,
        "passages": count_passages(settings),
        "budget": plan.budget,
        "runs": [
            {
                "name": run.name,
                "method": run.method,
                "preset": run.settings.get("preset"),
                "set": run.settings["set"],
                "estimate": estimate,
            }
            for run, estimate in zip(plan.runs, estimates, strict=True)
        ],
        "refused": plan.refused,
    }


def print_plan(plan: dict[str, Any]) -> None:
    print(f"{plan['questions']} questions, {plan['passages']} passages, {len(plan['runs'])} runs; nothing was run")
    for run in plan["runs"]:
        chosen = [f"preset {run['preset']}"] if run["preset"] else []
        print("  ".join([f"  {run['name']}", *chosen, *(f"{name}={value}" for name, value in run["set"].items())]))
    for name, error in plan["refused"].items():
        print(f"  {name} cannot run: {error}")
    print_estimates(plan["runs"])


def print_estimates(runs: Sequence[Mapping[str, Any]]) -> None:
    known = [(run["name"], run["estimate"]) for run in runs if run["estimate"]["by_purpose"]]
    if known:
        print(f"estimate ({known[0][1]['source']}):")
        totals = [[estimate["by_purpose"]["all"][count] for count in COUNTS] for _, estimate in known]
        rows = [(name, row, estimate["usd"]) for (name, estimate), row in zip(known, totals, strict=True)]
        prices = [usd for _, _, usd in rows if usd is not None]
        rows.append(("all", [sum(column) for column in zip(*totals, strict=True)], sum(prices) if prices else None))
        cells = [[n, *(f"{v:,}" for v in row), "?" if usd is None else f"{usd:,.2f}"] for n, row, usd in rows]
        for line in table(("run", *(count.replace("_", " ") for count in COUNTS), "USD"), cells):
            print(f"  {line}")
        print(GUESS)
    for run in runs:
        if not run["estimate"]["by_purpose"]:
            print(f"  no estimate of {run['name']}: {run['estimate']['source']}")


def views(*, quiet: bool) -> Callable[[str], ProgressView]:
    """Shows each run's progress below a line that names it."""

    def view(title: str) -> ProgressView:
        if not quiet:
            print(title, file=sys.stderr)
        return shown_as(quiet=quiet)

    return view


def write_evaluation(plan: Plan, job: Job = run_job, *, quiet: bool = True) -> dict[str, Any]:
    """Does the runs of a plan and writes every file of an evaluation; returns the content of eval.json."""
    result = evaluate_plan(plan, views(quiet=quiet), job)
    for name, text in written(result, tables(result)).items():
        write_text(plan.out / name, text)
    if plots.available():
        plots.write_plots(result, plan.out / "plots")
    return result


def eval_command(
    settings: dict[str, Any], config: Mapping[str, Any], track: Sequence[str], *, as_json: bool, dry_run: bool
) -> int:
    own = {name: settings.pop(name) for name in ("methods", "budget", "baseline", "sweep")}
    plan = make_plan(own.pop("methods"), settings, **own)
    job = tracked(track, partial(final_scores, plan))
    if dry_run:
        would = planned(plan, settings, config)
        print(json.dumps(would, ensure_ascii=False)) if as_json else print_plan(would)
        return 0
    result = write_evaluation(plan, job, quiet=as_json)
    write_config(plan.out / "config.json", config)
    print(json.dumps(result, ensure_ascii=False) if as_json else (plan.out / "table.md").read_text(encoding="utf-8"))
    if not plots.available():
        print(f"espalier: {plots.ABSENT}", file=sys.stderr)
    bad = [run["name"] for run in result["runs"] if run["status"] != "done"]
    if bad:
        print(f"espalier: not finished: {', '.join(bad)} (see eval.json); run again to go on", file=sys.stderr)
    return 1 if bad else 0


def compare_command(arguments: argparse.Namespace) -> int:
    if arguments.rows < 0:
        raise ValueError(f"--rows is {arguments.rows}, allowed: 0 or more")
    result = compare_runs(Path(arguments.a), Path(arguments.b), arguments.questions)
    print(
        json.dumps(result, ensure_ascii=False)
        if arguments.json
        else to_markdown(comparison_tables(result, arguments.rows), [])
    )
    return 0
