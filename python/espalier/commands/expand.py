"""`espalier expand`."""

import argparse

from .shared.ray import RAY_OPTIONS, add_job_options, job_of
from .shared.run_options import add_run_options
from .shared.task import do_task, print_run, tell_end

SUMMARY = "Grow trees, harvest training data, write answers and a report."
EXAMPLES = (
    "espalier expand --questions questions.jsonl --corpus corpus.jsonl --out out/demo",
    "espalier expand --method airrag --preset paper --questions questions.jsonl --index index --out out/air \\\n"
    "    --model http://localhost:8000/v1 --model-name Qwen/Qwen2.5-7B-Instruct --set max_calls=200",
    "espalier expand --config run.yaml --questions questions.jsonl --out out/told --track wandb=trees",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    add_job_options(parser)


def run(arguments: argparse.Namespace) -> int:
    result = do_task("expand", arguments, job_of(arguments), without=["track", *RAY_OPTIONS])
    if result is None:
        return 0
    print_run(result, arguments, ["This run was finished before. Nothing was run."] * result.recognised)
    return tell_end(result, arguments)
