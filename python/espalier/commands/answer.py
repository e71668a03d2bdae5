"""`espalier answer`."""

from __future__ import annotations

import argparse
import json
import sys

from ..runs.job import RunResult
from ..runs.summary import labels, scores, shares
from .shared.ray import RAY_OPTIONS, add_ray_options, job_of
from .shared.run_options import add_run_options
from .shared.task import do_task, tell_end
from .shared.track import add_track_option

SUMMARY = "Answer questions. No gold is needed and none is seen. What the file holds scores the answers."
EXAMPLES = (
    "espalier answer --questions questions.jsonl --corpus corpus.jsonl --model gguf:model.gguf --out out/local",
    "espalier answer --method reasonrag --questions questions.jsonl --corpus corpus.jsonl --out out/answers",
    "espalier answer --questions questions.jsonl --retriever http://localhost:8900/retrieve --out out/answers --json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    add_track_option(parser)
    add_ray_options(parser)


def run(arguments: argparse.Namespace) -> int:
    result = do_task("answer", arguments, job_of(arguments), without=["track", *RAY_OPTIONS])
    if result is None:
        return 0
    if arguments.json:
        print((result.out / "answers.jsonl").read_text(encoding="utf-8"), end="")
    else:
        print_answers(result)
        print(labels(result.summary), end="", file=sys.stderr)
        for line in [*scores(result.summary), *shares(result.summary)]:
            print(f"  {line}", file=sys.stderr)
    return tell_end(result)


def print_answers(result: RunResult) -> None:
    with (result.out / "answers.jsonl").open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            print(row["id"], row["question"], "" if row["answer"] is None else row["answer"], sep="\t")
