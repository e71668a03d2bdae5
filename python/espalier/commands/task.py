"""What `expand`, `answer` and `batch prepare` do alike."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, TypeVar

from .._job import RunResult
from .._progress import shown_as
from .config import Recorded
from .dry_run import dry_run
from .settings import settings_of

T = TypeVar("T")
NOTHING_TO_FIND = "there is neither a --corpus nor an --index nor the URL of a --retriever"


def can_find(settings: Mapping[str, Any]) -> bool:
    return bool(settings["corpus"] or settings["index"] or "://" in (settings["retriever"] or ""))


def do_task(
    task: str,
    arguments: argparse.Namespace,
    job: Callable[[str, dict[str, Any], Recorded], T],
    without: Container[str] = (),
) -> T | None:
    """Has `job` do what the line asks for; None after a dry run. `without` names options that are no settings."""
    settings = settings_of(arguments, without)
    config = arguments.given(arguments)
    if arguments.dry_run:
        dry_run(task, settings, config, arguments.like, as_json=arguments.json)
        return None
    if arguments.like:
        raise ValueError("option '--like' is for a dry run; add --dry-run")
    with shown_as(quiet=arguments.json) as view:
        recorded = Recorded(Path(settings["out"]), config, view)
        result = job(task, settings, recorded)
        recorded.write(anew=False)
    searches = result.summary["retrievals"] if isinstance(result, RunResult) else 0
    if searches and not can_find(settings):
        print(f"espalier: {searches:,} retrievals found nothing: {NOTHING_TO_FIND}", file=sys.stderr)
    return result


def tell_open(result: RunResult) -> int:
    """Says which questions are open; the exit code."""
    if result.open:
        print(
            f"espalier: a backend failed and left {result.open} questions open (see answers.jsonl); run again to go on",
            file=sys.stderr,
        )
    return 1 if result.open else 0
