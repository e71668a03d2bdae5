"""The figures of the steps, as rounds.json has them. None depends on a clock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..eval.side_by_side import compare_runs

RUN = ("model", "simulated", "oracle", "questions", "calls", "retrievals")
SCORES = ("em", "f1")


def json_text(value: Mapping[str, Any]) -> str:
    """For files that people read too."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def trees_figures(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run's summary. The scores are those of the trees, which saw gold."""
    return {name: summary[name] for name in (*RUN, *SCORES)}


def training_figures(record: Mapping[str, Any]) -> dict[str, Any]:
    """Of training.json: the rows of the file, and those of them that are learned or held out."""
    rows = sum(one["rows"] for one in record["rows"])
    kept = {name: record[name] for name in ("steps", "loss", "eval_loss")}
    return {"rows": rows, "learned": record["lengths"]["rows"], **kept}


def answers_figures(run: Path, held_out: Path) -> dict[str, Any]:
    """Of a run of `answer`: the means of its scores, and their 95 % bootstrap intervals over questions."""
    found = compare_runs(run, run, held_out)
    kept = {name: found["a"][name] for name in ("model", "simulated", "calls")}
    return {**kept, "questions": found["questions"], **{metric: found["summary"][metric]["a"] for metric in SCORES}}


def gain(before: Path, after: Path, held_out: Path) -> dict[str, Any]:
    """By score: the difference of two runs of `answer`, its paired bootstrap interval over questions, and p."""
    found = compare_runs(before, after, held_out)["summary"]
    return {metric: {name: found[metric][name] for name in ("difference", "interval", "p")} for metric in SCORES}


def said(test: Mapping[str, Any]) -> str:
    """A gain in percent with its interval."""
    low, high = test["interval"]
    return f"EM {100 * test['difference']:+.1f}, 95 % {100 * low:+.1f} to {100 * high:+.1f}"


def why_stopped(number: int, test: Mapping[str, Any]) -> str:
    """Why no round follows this one, '' where its gain is certain: the interval lies above 0."""
    low, high = test["interval"]
    if low > 0:
        return ""
    where = "holds 0" if high >= 0 else "lies below 0"
    return f"stopped after round {number}: the interval of its gain {where} ({said(test)})"


def without_rows(trees: Path, number: int) -> str:
    """Why a round ends before its training, '' where its trees gave rows of both sorts."""
    empty = next((name for name in ("sft.jsonl", "dpo.jsonl") if not (trees / name).stat().st_size), "")
    return f"stopped in round {number}: its trees gave no row of {empty}" if empty else ""
