"""`espalier batch`: the steps of a run whose model is asked through batch files."""

import argparse
from functools import partial

from ..batch import MOST_REQUESTS, Round, ingest, outstanding, prepare, round_settings
from ..io.terminal import say, say_json
from .shared.parser import add_command
from .shared.run_options import add_run_options
from .shared.task import do_task, tell_end

SUMMARY = "Ask the model through an offline batch API, in rounds."
EXAMPLES = ()
PREPARE = (
    "espalier batch prepare --questions questions.jsonl --corpus corpus.jsonl --model-name gpt-4o-mini --out out/b",
)
INGEST = ("espalier batch ingest out/b responses.jsonl",)


def add_options(parser: argparse.ArgumentParser) -> None:
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    first = add_command(steps, "prepare", "Write what a run would ask next.", PREPARE)
    add_run_options(first)
    first.add_argument("--task", choices=["expand", "answer"], default="expand", help="which job it is (expand)")
    first.add_argument(
        "--most", type=int, default=MOST_REQUESTS, metavar="N", help=f"requests in one file ({MOST_REQUESTS})"
    )
    first.add_argument("--again", action="store_true", help="write requests again if their responses will never come")
    second = add_command(steps, "ingest", "Put responses into the run's journal.", INGEST)
    second.add_argument("out", metavar="DIR", help="folder of the run")
    second.add_argument("responses", nargs="+", metavar="FILE", help="what the batch API gave back, as JSON lines")
    second.add_argument("--journal", metavar="FILE", help="journal that the run shares (DIR/journal.sqlite)")


def run(arguments: argparse.Namespace) -> int:
    return {"prepare": prepare_command, "ingest": ingest_command}[arguments.step](arguments)


def print_round(done: Round, arguments: argparse.Namespace) -> int:
    """Prints what to do next. Returns the exit code, 1 while the run is not complete."""
    if arguments.json:
        files = [str(path) for path in done.files]
        say_json({"files": files, "requests": done.requests, "open": done.run.open})
    elif done.files:
        say(*map(str, done.files))
        say(f"{done.requests} requests to send. Next: espalier batch ingest {done.run.out} RESPONSES.jsonl")
    elif not done.run.open:
        say(f"complete: {done.run.out}")
    return 1 if done.files else tell_end(done.run, arguments)


def prepare_command(arguments: argparse.Namespace) -> int:
    own = {"most": arguments.most, "again": arguments.again}
    job, ready = partial(prepare, **own), partial(round_settings, **own)
    done = do_task(arguments.task, arguments, job, without=("step", "task", *own), ready=ready)
    return 0 if done is None else print_round(done, arguments)


def ingest_command(arguments: argparse.Namespace) -> int:
    result = ingest(arguments.out, arguments.responses, journal_file=arguments.journal)
    if arguments.json:
        say_json({"stored": result.stored, "failed": result.failed, "unknown": result.unknown})
        return 0
    say(f"{result.stored} responses stored, {len(result.failed)} failed, {result.unknown} belong to no request")
    say(*(f"  {key}: {why}" for key, why in list(result.failed.items())[:5]))
    left = sum(outstanding(arguments.out).values())
    say(f"{left} requests still wait" if left else "Next: the same `espalier batch prepare` again.")
    return 0
