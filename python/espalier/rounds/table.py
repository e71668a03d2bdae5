"""The rounds as a table, for the console and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..eval.tables import Cell, Table, between, score

HEADER = ["round", "trees by", "questions", "calls", "rows", "pairs", "pairs per question", "model"]
HEADER += ["EM", "EM 95 %", "F1", "F1 95 %", "gain of EM", "gain 95 %", "calls to answer"]


def rounds_table(result: Mapping[str, Any]) -> Table:
    """A row for the model at the start and for each round."""
    start = result["start"]
    empty: list[Cell] = [None] * (HEADER.index("model") - 1)
    rows: list[list[Cell]] = [["start", *empty, *answered(start, None)]]
    for one in result["rounds"]:
        trees, pairs = one["trees"], one["dpo"]["rows"]
        rows.append(
            [
                str(one["round"]),
                labelled(trees),
                f"{trees['questions']:,}",
                f"{trees['calls']:,}",
                f"{one['sft']['rows']:,}",
                f"{pairs:,}",
                f"{pairs / trees['questions']:.1f}",
                *answered(one["answers"], one["gain"]["em"]),
            ]
        )
    return Table("rounds", "Rounds", HEADER, rows, notes(result), left=2)


def answered(answers: Mapping[str, Any], gain: Mapping[str, Any] | None) -> list[Cell]:
    """The cells of the answers to held-out questions."""
    scores = [
        cell
        for metric in ("em", "f1")
        for cell in (score(answers[metric]["mean"]), between(answers[metric]["interval"]))
    ]
    better = [None, None] if gain is None else [f"{100 * gain['difference']:+.1f}", between(gain["interval"])]
    return [labelled(answers), *scores, *better, f"{answers['calls']:,}"]


def labelled(run: Mapping[str, Any]) -> str:
    """The model of a run, with what must be said of it."""
    labels = [name for name in ("simulated", "oracle") if run.get(name) and run["model"] != name]
    return str(run["model"]) + (f" ({', '.join(labels)})" if labels else "")


def notes(result: Mapping[str, Any]) -> list[str]:
    """What must stand under the table."""
    held_out = result["start"]["questions"]
    said = [
        f"EM, F1 and the gain over the row before in percent of {held_out:,} held-out questions, without gold, with "
        "95 % bootstrap intervals over questions. The gain is paired",
        "rows and pairs: of sft.jsonl and dpo.jsonl. oracle: gold answers steered the trees",
    ]
    if by := [str(one["round"]) for one in result["rounds"] if one["trees"]["simulated"]]:
        said.append(
            f"simulated: no real language model wrote the trees of round {', '.join(by)}, which the models learn"
        )
    return said + ([result["stopped"]] if result.get("stopped") else [])
