"""What `expand`, `answer` and `batch prepare` do alike."""

import argparse
import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ... import _core
from ...datasets import said_twice
from ...errors import Error
from ...io.terminal import say, say_error, say_json
from ...runs.job import RunResult
from ...runs.progress import shown_as
from ...runs.summary import readable
from .config import Recorded
from .dry_run import dry_run
from .run_options import settings_of

T = TypeVar("T")


def do_task(
    task: str,
    arguments: argparse.Namespace,
    job: Callable[[str, dict[str, Any], Recorded], T],
    without: Container[str] = (),
    ready: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
) -> T | None:
    """Runs `job` with the line's settings. None after a dry run, which has the settings that `ready` makes of them.
    `without` names options that are not settings."""
    settings = settings_of(arguments, without)
    config = arguments.given(arguments)
    with suppress(Error, TypeError):  # what is wrong is said by the task, in its order
        file = settings["questions"]
        asked = _core.read_questions(file, settings.get("limit") or 0, False) if Path(file).is_file() else ()
        if twice := said_twice((question.id, question.text) for question in asked):
            say_error(f"{settings['questions']}: {twice}")
    if arguments.dry_run:
        dry_run(task, ready(settings), config, as_json=arguments.json)
        return None
    with shown_as(quiet=arguments.json) as view:
        recorded = Recorded(Path(settings["out"]), config, view)
        result = job(task, settings, recorded)
        recorded.write(anew=False)
    return result


def print_run(result: RunResult, arguments: argparse.Namespace, said: Sequence[str]) -> None:
    """Prints what a run came to, what is said of it, and where its report is. As JSON the summary alone."""
    if arguments.json:
        say_json(result.summary)
    else:
        say(*readable(result.summary), *said, f"Report: {result.out / 'report.html'}")


def first_error(run: Path, status: str) -> str:
    """The reason of the first question with this status, from a run's answers.jsonl."""
    with (run / "answers.jsonl").open(encoding="utf-8") as rows:
        return next(str(row["error"]) for row in map(json.loads, rows) if row["status"] == status)


def tell_failed(name: str, run: Path, summary: Mapping[str, Any], allowed: bool) -> int:
    """Prints which questions of a finished run have no answer and why. Returns the exit code. `allowed`: 0 for some."""
    if not summary["failed"]:
        return 0
    say_error(
        f"{name}: {summary['failed']} of {summary['questions']} questions failed, and running again would change "
        f"nothing. The first: {first_error(run, 'failed')}"
    )
    return 0 if allowed and summary["failed"] < summary["questions"] else 4


def tell_end(result: RunResult, arguments: argparse.Namespace, more: str = "see answers.jsonl") -> int:
    """Prints which questions have no answer and why. Returns the exit code. `more`: what to know of open ones."""
    if not result.open:
        return tell_failed(result.summary["method"], result.out, result.summary, arguments.allow_failed)
    are, first = ("questions are", " of the first") if result.open > 1 else ("question is", "")
    say_error(
        f"{result.open} {are} open, because a backend failed ({more}). {go_on(result.why_open)} "
        f"The reason{first}: {result.why_open}"
    )
    return 1


FINAL = re.compile(
    r"HTTP [34](?!08|09|29)\d\d\b|content_filter|No reply of this|three times in a row|_quota|certificate"
)


def go_on(why: str) -> str:
    """What to do about an open question, from its reason. A final one comes again until something is changed."""
    return "Mend that. What is done is kept." if FINAL.search(why) else "Run again to go on."
