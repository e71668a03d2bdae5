"""`espalier answer`."""

import argparse
import json
import sys

from ..io.terminal import say, say_cells, say_json_line
from ..runs.summary import labels, scores, shares
from .shared.ray import RAY_OPTIONS, add_job_options, job_of
from .shared.run_options import add_run_options
from .shared.task import do_task, tell_end

SUMMARY = "Answer questions. No gold is needed and none is seen. Where the file holds gold, answers are scored."
EXAMPLES = (
    "espalier answer --questions questions.jsonl --corpus corpus.jsonl --model gguf:model.gguf --out out/local",
    "espalier answer --method reasonrag --questions questions.jsonl --corpus corpus.jsonl --out out/answers",
    "espalier answer --questions questions.jsonl --retriever http://localhost:8900/retrieve --out out/answers --json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    add_job_options(parser)


def run(arguments: argparse.Namespace) -> int:
    result = do_task("answer", arguments, job_of(arguments), without=["track", *RAY_OPTIONS])
    if result is None:
        return 0
    with (result.out / "answers.jsonl").open(encoding="utf-8", newline="\n") as rows:
        for row in rows:
            if arguments.json:
                say_json_line(row.removesuffix("\n"))
            else:
                say_cells(*map(json.loads(row).get, ("id", "question", "answer")))
    if not arguments.json:
        told = [line for lines in (labels, scores, shares) for line in lines(result.summary)]
        say(*(f"  {line}" for line in told), f"Report: {result.out / 'report.html'}", to=sys.stderr)
    return tell_end(result, arguments)
