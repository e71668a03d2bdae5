"""How well a model follows the methods' protocols: readable replies per purpose, and answers, with each way to help it.

    python benchmarks/protocols.py --model gguf:MODEL.gguf --questions Q --corpus C --out DIR
        [--task answer|expand] [--limit 20] [--methods decex ...] [--ways auto off shots repair both]
        [--set OPTION=VALUE ...]

One run folder per method and way stands in DIR, so that a second start goes on where the first ended. All share one
journal: free first replies are asked once for off and repair. The ways:
auto (a grammar where probes ask for it), off (free replies), shots (two examples in each prompt), repair (one repair
of a reply that cannot be read), both (shots and repair). `max_calls` gives all the same ceiling of calls.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import espalier as esp
from espalier.eval import score

METHODS = ("decex", "decouple", "airrag", "prorag", "reasonrag")
FREE: dict[str, Any] = {"constrain": "off"}
WAYS: dict[str, dict[str, Any]] = {
    "auto": {"constrain": "auto"},
    "off": FREE,
    "shots": FREE | {"set": {"shots": 2}},
    "repair": FREE | {"set": {"repair": 1}},
    "both": FREE | {"set": {"shots": 2, "repair": 1}},
}


def scores(folder: Path, questions: str) -> str:
    """Questions without an answer, and the means of exact match and F1, in which they are worth 0."""
    golds = {row["id"]: row["golden_answers"] for row in lines(Path(questions))}
    answers = {row["id"]: row["answer"] for row in lines(folder / "answers.jsonl")}
    found = [score("common", answer or "", golds[name]) for name, answer in answers.items()]
    means = (f"{name.upper()} {sum(one[name] for one in found) / len(found):.3f}" for name in ("em", "f1"))
    return ", ".join((f"unanswered {sum(answer is None for answer in answers.values())}", *means))


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def show(method: str, way: str, summary: dict[str, Any], scored: str) -> None:
    rows = {purpose: row for purpose, row in summary["by_purpose"].items() if row["calls"]}
    calls, readable = (sum(row[name] for row in rows.values()) for name in ("calls", "readable"))
    print(
        f"{method:<10}{way:<7} readable {readable} of {calls}, questions {summary['questions']},"
        f" open {summary['open']}, failed {summary['failed']}, {scored}, repairs"
        f" {sum(row['repairs'] for row in rows.values())} (good {sum(row['repaired'] for row in rows.values())}),"
        f" probes {sum(row['calls'] for row in summary.get('probes', {}).values())}, {summary['seconds']:.0f} s",
        flush=True,
    )
    for purpose, row in rows.items():
        print(f"{'':<17} {purpose:<16} {row['readable']:>5} of {row['calls']:>5}, cut {row['cut']}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--model", "--questions", "--corpus", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--task", choices=("answer", "expand"), default="answer")
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=("auto", "off"))
    parser.add_argument("--set", nargs="+", default=["documents=2", "max_tokens=64", "max_calls=6"])
    given = parser.parse_args()
    chosen = dict(pair.split("=", 1) for pair in given.set)
    for method in given.methods:
        for way in given.ways:
            folder = Path(given.out) / f"{given.task}-{method}-{way}"
            getattr(esp, given.task)(
                method=method,
                questions=given.questions,
                corpus=given.corpus,
                model=given.model,
                limit=given.limit,
                out=folder,
                journal_file=Path(given.out) / "journal.sqlite",
                **WAYS[way] | {"set": chosen | WAYS[way].get("set", {})},
            )
            show(method, way, lines(folder / "summary.json")[0], scores(folder, given.questions))


if __name__ == "__main__":
    main()
