"""`espalier eval`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _core
from ..io.read import count_passages
from ..io.terminal import say, say_error, say_json
from ..local.facts import Facts
from ..runs.estimate import simulated_estimate
from ..runs.job import check
from .shared.config import write_config
from .shared.dry_run import estimate_row, models_here, print_estimate
from .shared.ray import RAY_OPTIONS, add_job_options, job_of
from .shared.run_options import add_run_options, settings_of
from .shared.task import first_error, go_on, tell_failed

if TYPE_CHECKING:
    from ..eval.plan import Plan

SUMMARY = "Answer questions by several methods and compare scores and costs."
EXAMPLES = (
    "espalier eval --methods decex,airrag,direct --questions questions.jsonl --corpus corpus.jsonl --out out/eval",
    "espalier eval --methods all --budget calls=50 --sweep decex.k=1,3,5 --questions questions.jsonl \\\n"
    "    --corpus corpus.jsonl --out out/curves --dry-run",
    "espalier eval --methods decex,direct --questions questions.jsonl --corpus corpus.jsonl --out out/eval --ray auto",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--methods", required=True, metavar="A,B,C", help="methods by name, or all")
    parser.add_argument("--budget", metavar="LIMIT=N", help="calls, tokens, input_tokens, seconds or usd of a question")
    parser.add_argument("--baseline", metavar="METHOD", help="what others are tested against (that with the best F1)")
    parser.add_argument(
        "--sweep",
        action="append",
        default=[],
        metavar="METHOD.OPTION=V1,V2",
        help="runs under several values of an option, for a scaling curve. It may be repeated",
    )
    add_run_options(parser, without=["--method", "--shard"])
    add_job_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..eval import plots
    from ..eval.plan import make_plan
    from ..eval.results import final_scores, write_evaluation  # numpy is not for every command

    settings = settings_of(arguments, without=["track", *RAY_OPTIONS])
    config = arguments.given(arguments)
    own = {name: settings.pop(name) for name in ("methods", "budget", "baseline", "sweep")}
    plan = make_plan(own.pop("methods"), settings, **own)
    job = job_of(arguments, partial(final_scores, plan))
    if arguments.dry_run:
        would = planned(plan, settings, config)
        say_json(would) if arguments.json else print_plan(would)
        return 0
    result = write_evaluation(plan, job, quiet=arguments.json)
    write_config(plan.out / "config.json", config)
    table = (plan.out / "table.md").read_text(encoding="utf-8").split("\n")
    say_json(result) if arguments.json else say(*table, f"Tables: {plan.out}")
    if not plots.available():
        say_error(plots.ABSENT)
    bad = [run for run in result["runs"] if run["status"] != "done"]
    if bad:
        first = bad[0]["error"] or first_error(plan.out / "runs" / bad[0]["name"], "open")
        names = ", ".join(run["name"] for run in bad)
        say_error(f"not finished: {names} (see eval.json). {go_on(first)} The first: {first}")
        return 1
    runs = [run for run in result["runs"] if run["failed"]]
    told = [tell_failed(run["name"], plan.out / "runs" / run["name"], run, arguments.allow_failed) for run in runs]
    return max(told, default=0)


def planned(plan: Plan, settings: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """What would be run, the inputs read and checked, with an estimate of each run's cost."""
    for run in plan.runs:
        check("answer", {**run.settings, "journal_file": settings.get("journal_file")}, files=True)
    models = dict(models_here(settings))
    questions = len(_core.read_questions(settings["questions"], settings.get("limit") or 0, True))
    return {
        "config": config,
        "questions": questions,
        "passages": count_passages(settings),
        "budget": plan.budget,
        "models": {name: facts._asdict() for name, facts in models.items()},
        "runs": [
            {
                "name": run.name,
                "method": run.method,
                "preset": run.settings.get("preset"),
                "set": run.settings["set"],
                "estimate": estimate_row(simulated_estimate("answer", run.settings), questions, run.settings["set"]),
            }
            for run in plan.runs
        ],
        "refused": plan.refused,
    }


def print_plan(plan: dict[str, Any]) -> None:
    say(f"{plan['questions']} questions, {plan['passages']} passages, {len(plan['runs'])} runs. Nothing was run")
    say(*(f"  {model}: {Facts(**facts)}" for model, facts in plan["models"].items()))
    for run in plan["runs"]:
        chosen = [f"preset {run['preset']}"] if run["preset"] else []
        say("  ".join([f"  {run['name']}", *chosen, *(f"{name}={value}" for name, value in run["set"].items())]))
        print_estimate(run["estimate"])
    say(*(f"  {name} cannot run: {error}" for name, error in plan["refused"].items()))
