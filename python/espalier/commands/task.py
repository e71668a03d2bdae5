"""What `expand` and `answer` do alike."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .. import _core
from .._files import count_passages
from .._job import RunResult, check, run_job
from .._progress import shown_as
from .settings import settings_of


def do_task(task: str, arguments: argparse.Namespace) -> RunResult | None:
    """Runs what the line asks for; None after a dry run."""
    settings = settings_of(arguments)
    if arguments.dry_run:
        print(dry_run(task, settings))
        return None
    with shown_as(quiet=arguments.json) as view:
        return run_job(task, settings, view)


def dry_run(task: str, settings: dict[str, Any]) -> str:
    check(task, settings)
    questions = _core.read_questions(settings["questions"], settings["limit"] or 0, task == "expand")
    passages = count_passages(settings)
    return f"options and inputs are good: {len(questions)} questions, {passages} passages; nothing was run"


def tell_open(result: RunResult) -> int:
    """Says which questions are open; the exit code."""
    if result.open:
        print(
            f"espalier: a backend failed and left {result.open} questions open (see answers.jsonl); run again to go on",
            file=sys.stderr,
        )
    return 1 if result.open else 0
