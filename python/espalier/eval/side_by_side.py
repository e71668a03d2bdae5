"""Two runs over the same questions, question by question."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._core import Question
from ..datasets import read_questions
from ..errors import InputError
from ..io.files import file_of, read_object, record_of
from .scores import METRICS, Row, read_rows, scores_of
from .statistics import bootstrap_means, interval, paired_test
from .tables import Table, between, count, p_value, score


def finished(run: Path) -> dict[str, Any]:
    """A run's record, summary and answers. Raises InputError if the folder holds no finished run."""
    record, summary = record_of(run), read_object(file_of(run, "summary.json"))
    return {"run": record, "summary": summary, "answers": list(read_rows(run / "answers.jsonl"))}


def check_same_questions(folders: Sequence[Path], records: Sequence[Mapping[str, Any]]) -> None:
    """Raises InputError that names what differs."""
    (a, b), (rows_a, rows_b) = folders, [record["answers"] for record in records]
    only = [
        [row["id"] for row in mine if row["id"] not in {r["id"] for r in other}]
        for mine, other in ((rows_a, rows_b), (rows_b, rows_a))
    ]
    said = [
        f"only {folder} has {', '.join(ids[:3])}{' ...' if len(ids) > 3 else ''} ({len(ids)} in all)"
        for folder, ids in zip(folders, only, strict=True)
        if ids
    ]
    if said:
        raise InputError(f"the runs are over different questions: {'; '.join(said)}")
    for one, other in zip(rows_a, rows_b, strict=False):
        if (one["id"], one["question"]) != (other["id"], other["question"]):
            raise InputError(
                f"the runs are over different questions: where {a} has {one['id']} '{one['question']}', "
                f"{b} has {other['id']} '{other['question']}'"
            )
    if len(rows_a) != len(rows_b):
        raise InputError(f"the runs are over different questions: {len(rows_a)} in {a}, {len(rows_b)} in {b}")


def gold_of(record: Mapping[str, Any], questions: str | Path | None) -> list[Question]:
    """The questions of a run, with their gold answers."""
    file = Path(questions if questions is not None else record["run"]["noted"]["questions"])
    if not file.exists():
        raise InputError(f"{file}: the runs' questions are not there; say where they are by --questions")
    known = {question.id: question for question in read_questions(file, require_gold=True)}
    for row in record["answers"]:
        if row["id"] not in known or known[row["id"]].text != row["question"]:
            raise InputError(f"{file}: has no question {row['id']} '{row['question']}', or none with that text")
    return [known[row["id"]] for row in record["answers"]]


def same(a: str | None, b: str | None) -> bool:
    """Whether two answers say the same, in the common normal form."""
    return a == b or (a is not None and b is not None and bool(_core.score("common", a, [b])["em"]))


def side(row: Row, gold: Sequence[str]) -> Row:
    scores = scores_of(row["answer"], gold, ["common"])["common"]
    return {"answer": row["answer"], "status": row["status"], **scores, "calls": row.get("completions")}


def compare_runs(a: Path, b: Path, questions: str | Path | None = None) -> Row:
    """What espalier.eval.compare returns."""
    folders = [a, b]
    records = [finished(folder) for folder in folders]
    check_same_questions(folders, records)
    rows: list[Row] = []
    answers = (record["answers"] for record in records)
    for question, one, other in zip(gold_of(records[0], questions), *answers, strict=True):
        sides = [side(row, question.gold) for row in (one, other)]
        equal = [all(sides[0][m] == sides[1][m] for m in METRICS), same(one["answer"], other["answer"])]
        row: Row = {"id": question.id, "question": question.text, "gold": question.gold, "differ": not all(equal)}
        rows.append(row | {"rank": equal, "a": sides[0], "b": sides[1]})
    summary = {}
    for metric in METRICS:
        scores = np.array([[float(row[s][metric]) for row in rows] for s in ("a", "b")])
        means = bootstrap_means(scores)
        values = {
            name: {"mean": float(scores[i].mean()), "interval": interval(means[:, i])} for i, name in enumerate("ab")
        }
        summary[metric] = values | paired_test(scores[1], scores[0], means[:, 1] - means[:, 0])
    rows.sort(key=lambda row: tuple(row["rank"]))
    return {
        "a": about(folders[0], records[0]),
        "b": about(folders[1], records[1]),
        "questions": len(rows),
        "differ": sum(row["differ"] for row in rows),
        "summary": summary,
        "rows": [{key: value for key, value in row.items() if key != "rank"} for row in rows],
    }


def about(folder: Path, record: Mapping[str, Any]) -> Row:
    """What a run is, and which of its search options are which."""
    summary = record["summary"]
    return {
        "run": str(folder),
        **{name: summary[name] for name in ("method", "model", "simulated", "oracle", "open", "calls", "seconds")},
        "options": record["run"]["options"],
    }


def said_of(result: Mapping[str, Any]) -> list[str]:
    """What the two runs are, and what must be said of them."""
    said = []
    for name in ("a", "b"):
        run = result[name]
        labels = (["simulated model"] if run["simulated"] else [run["model"]]) + ["oracle"] * run["oracle"]
        said.append(f"{name.upper()}: {run['run']}, {run['method']}, {', '.join(labels)}")
    options = {name: result[name]["options"] for name in ("a", "b")}
    if result["a"]["method"] == result["b"]["method"]:
        changed = [o for o in options["a"] if o in options["b"] and options["a"][o] != options["b"][o]]
        said += [f"{o}: A {json.dumps(options['a'][o])}, B {json.dumps(options['b'][o])}" for o in changed]
    return said


def comparison_tables(result: Mapping[str, Any], rows: int = 0) -> list[Table]:
    """The summary, and the first so many rows (0 = all)."""
    header = ["score", "A", "95 % A", "B", "95 % B", "B - A", "95 %", "p"]
    lines: list[list[Any]] = []
    for metric, label in (("em", "EM"), ("f1", "F1"), ("acc", "Acc")):
        test = result["summary"][metric]
        line = [label, *(c for s in "ab" for c in (score(test[s]["mean"]), between(test[s]["interval"])))]
        lines.append([*line, f"{100 * test['difference']:+.1f}", between(test["interval"]), p_value(test["p"])])
    calls = [result[s]["calls"] / max(result["questions"], 1) for s in "ab"]
    lines.append(["calls", count(calls[0]), None, count(calls[1]), None, f"{calls[1] - calls[0]:+,.1f}", None, None])
    shown = result["rows"][: rows or None]
    each = [
        [row["id"], row["question"], " / ".join(row["gold"])]
        + [cell for s in "ab" for cell in (row[s]["answer"], score(row[s]["em"]), score(row[s]["f1"]), row[s]["calls"])]
        for row in shown
    ]
    note = f"{result['differ']} of {result['questions']} questions differ; {len(shown)} are shown"
    columns = [f"{s} {name}" for s in "AB" for name in ("answer", "EM", "F1", "calls")]
    return [
        Table("summary", "Two runs", header, lines, said_of(result)),
        Table("rows", "Question by question", ["id", "question", "gold", *columns], each, [note], left=4),
    ]
