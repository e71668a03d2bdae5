"""What an evaluation found, as tables of cells that are still numbers and text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..runs.summary import RARE, percent

Cell: TypeAlias = "str | int | float | None"


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    header: list[str]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)
    left: int = 1
    """So many columns are words."""


def score(value: float | None) -> str | None:
    """In percent, as papers print them."""
    return None if value is None else f"{100 * value:.1f}"


def count(value: float | None) -> str | None:
    return None if value is None else f"{value:,.1f}"


def money(value: float | None) -> str | None:
    return None if value is None else f"{value:.2g}"


def p_value(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"


def between(bounds: Sequence[float]) -> str:
    return f"{100 * bounds[0]:.1f} to {100 * bounds[1]:.1f}"


def finished(result: Mapping[str, Any], *, swept: bool = False) -> list[dict[str, Any]]:
    """The runs that have scores: those of the tables, or those of the sweeps."""
    return [run for run in result["runs"] if run["status"] != "failed" and (run["point"] is not None) == swept]


def said_of_all(result: Mapping[str, Any]) -> list[str]:
    """What must stand under every table."""
    model = "simulated model: no real language model was asked" if result["simulated"] else f"model {result['model']}"
    return [f"{model}; {result['questions']} questions"]


def main_table(result: Mapping[str, Any]) -> Table:
    priced = result["price"] is not None
    header = ["method", "EM", "F1", "F1 95 %", "Acc", "own EM", "own F1", "titles", "answers"]
    header += ["calls", "tokens in", "tokens out", "retrievals", "seconds", *(["usd"] if priced else [])]
    header += ["readable", "no answer"]
    rows: list[list[Cell]] = []
    for run in finished(result):
        own = run["profiles"][run["own_profile"]]
        scores = [score(run["em"]), score(run["f1"]), between(run["intervals"]["f1"]), score(run["acc"])]
        found = [score(run["title_recall"]), score(run["answer_recall"])]
        costs = [count(run[name]) for name in ("calls", "prompt_tokens", "completion_tokens", "retrievals")]
        seconds = None if run["seconds"] is None else f"{run['seconds']:.2g}"
        usd = [money(run["usd"])] if priced else []
        name = run["name"] + ("*" if run["stopped_by_budget"] else "")
        row = [name, *scores, score(own["em"]), score(own["f1"]), *found, *costs, seconds, *usd]
        rows.append([*row, percent(run["readable"]) or None, run["null_predictions"]])
    failed = [run for run in result["runs"] if run["status"] == "failed"]
    rows += [[run["name"], "failed", *[None] * (len(header) - 2)] for run in failed]
    notes = [
        "EM, F1 and Acc (a gold answer stands in the prediction: cover-EM) in percent of all questions, common profile",
        "own: as the method's paper scores; titles, answers: share of the supporting titles, and of the gold answers, "
        "that its searches retrieved; costs are means per question; readable: share of completions that could be read",
    ]
    cut = [f"{run['name']} ({run['stopped_by_budget']})" for run in finished(result) if run["stopped_by_budget"]]
    if cut:
        notes.append(
            f"* its budget cut searches short, on so many of {result['questions']} questions: {', '.join(cut)}"
        )
    notes += [f"{run['name']} failed: {run['error']}" for run in failed]
    notes += [f"{run['name']}: {run['open']} questions are open, scored 0" for run in finished(result) if run["open"]]
    return Table("main", "Methods", header, rows, notes)


def paired_table(result: Mapping[str, Any]) -> Table:
    header = ["method"]
    for metric in ("EM", "F1", "Acc"):
        header += [f"{metric} difference", "95 %", "p", "p (Holm)"]
    rows: list[list[Cell]] = []
    for run in finished(result):
        if run["against_baseline"] is None:
            continue
        row: list[Cell] = [run["name"]]
        for metric in ("em", "f1", "acc"):
            test = run["against_baseline"][metric]
            row += [f"{100 * test['difference']:+.1f}", between(test["interval"])]
            row += [p_value(test["p"]), p_value(test["p_holm"])]
        rows.append(row)
    notes = [
        f"percentile intervals of {result['resamples']} paired bootstrap resamples; two-sided paired sign-flip "
        "permutation test, p also adjusted by Holm's rule over the methods"
    ]
    asked = result["baseline_asked_for"]
    if asked is None:
        notes.append("the baseline is the method with the best F1 here, so its lead is partly luck")
    elif asked != result["baseline"]:
        notes.append(f"{asked}, the baseline that was asked for, failed")
    return Table("paired", f"Differences from {result['baseline']}", header, rows, notes)


def hops_table(result: Mapping[str, Any]) -> Table:
    header = ["method", "hops", "questions", "EM", "F1", "Acc", "calls"]
    rows: list[list[Cell]] = [
        [run["name"], group["hops"] or "unknown", group["questions"]]
        + [score(group[metric]) for metric in ("em", "f1", "acc")]
        + [count(group["calls"])]
        for run in finished(result)
        for group in run["by_hops"]
    ]
    return Table("hops", "By number of hops", header, rows)


def budget_table(result: Mapping[str, Any]) -> Table:
    header = ["method", "budget", "mean", "most", "questions over", "stopped by it"]
    rows: list[list[Cell]] = []
    over: dict[str, list[str]] = {}
    cheap: dict[str, list[str]] = {}
    for run in finished(result):
        for unit, spent in run["budget"].items():
            limit = f"{spent['limit']:g} {unit}"
            rows.append([run["name"], limit, f"{spent['mean']:,.4g}", f"{spent['most']:,.4g}", spent["over"]])
            rows[-1].append(run["stopped_by_budget"])
            if spent["over"]:
                over.setdefault(limit, []).append(f"{run['name']} ({spent['over']})")
            elif spent["mean"] < spent["limit"] / 2:
                cheap.setdefault(limit, []).append(run["name"])
    notes = [f"{limit} was overshot, on so many questions, by {', '.join(names)}" for limit, names in over.items()]
    notes += [f"less than half of {limit} was spent by {', '.join(names)}" for limit, names in cheap.items()]
    if cheap:
        notes.append("--match-budget spends what is left on more answers and lets the majority decide")
    return Table("budget", "Budget a question", header, rows, notes)


def replies_table(result: Mapping[str, Any]) -> Table:
    """What became of the completions of each purpose. Rare counts have a column where one of them is not 0."""
    runs = finished(result)
    rare = [name for name in RARE if any(run["replies"]["all"][name] for run in runs)]
    header = ["method", "purpose", "calls", "readable", *(RARE[name] for name in rare)]
    rows: list[list[Cell]] = [
        [run["name"], purpose, f"{group['calls']:,}", percent(group["readable"]) or None]
        + [f"{group[name]:,}" for name in rare]
        for run in runs
        for purpose, group in run["replies"].items()
    ]
    notes = [
        "calls are completions of all questions; repairs: replies that were asked again because they could not be "
        "read, each a call of its own; refused: answers from memory that say they do not know"
    ]
    return Table("replies", "Replies by purpose", header, rows, notes, left=2)


def sweep_table(result: Mapping[str, Any]) -> Table:
    header = ["method", "option", "value", "EM", "F1", "Acc", "calls", "tokens", "retrievals"]
    rows: list[list[Cell]] = [
        [run["method"], *run["point"], *(score(run[metric]) for metric in ("em", "f1", "acc"))]
        + [count(run[name]) for name in ("calls", "tokens", "retrievals")]
        for run in finished(result, swept=True)
    ]
    return Table("sweep", "Scaling", header, rows)


def tables(result: Mapping[str, Any]) -> list[Table]:
    """The tables that have rows. The first is the main one."""
    made = [make(result) for make in (main_table, paired_table, hops_table, budget_table, replies_table, sweep_table)]
    return [table for table in made if table.rows]
