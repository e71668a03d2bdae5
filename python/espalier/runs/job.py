"""Runs that read files and write a folder, as the command line does."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core
from .._core import Progress
from ..bridge.mismatch import broken
from ..gone import naming
from ..io.files import read_object
from ..report import add_report, renew_report
from .given import checked, given
from .progress import log, warning
from .reversed_pairs import leave_out_reversed
from .summary import unread_warning, with_notes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import RunSettings


@dataclass(frozen=True)
class RunResult:
    """The result of a run: its folder, the content of summary.json, and the number of open questions."""

    out: Path
    summary: dict[str, Any]
    open: int
    recognised: bool
    """The folder held this very run already, finished."""
    why_open: str = ""
    """The error of the first open question."""


Job: TypeAlias = Callable[[str, Mapping[str, Any], Callable[[Progress], None] | None], RunResult]
"""What does a task under settings and tells its progress: `run_job`, or that with something beside it."""


def text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings for the compiled part. None keeps the default."""
    if half := broken(settings, ""):
        raise ValueError(f"settings: {half}")
    plain = {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in settings.items() if v is not None}
    if not isinstance(body := plain.get("extra_body", ""), str):
        plain["extra_body"] = json.dumps(body)
    if isinstance(chosen := plain.get("set"), Mapping):
        plain["set"] = [(name, text_of(value)) for name, value in chosen.items()]
    return plain


def check(task: str, settings: Mapping[str, Any], *, files: bool = False) -> None:
    """Raises ValueError for bad settings, or with `files` all that a run raises before its first request."""
    with naming():
        plain = _plain(checked(settings))
        _core.run_job(task, plain, None, None) if files else _core.check_job(task, plain)


@dataclass(frozen=True)
class TriedPrompt:
    """What a model made of one prompt of a method."""

    purpose: str
    read: bool
    reply: str
    """How it begins, if it could not be read."""
    cut_at: int
    """The max_tokens that ended such a reply; 0 = it ended by itself."""
    in_thought: bool
    """That limit ended it inside a thought."""
    error: str
    """Why there was no reply."""


def try_prompts(settings: Mapping[str, Any]) -> list[TriedPrompt]:
    """Asks each prompt of a method once, filled with a sample question and passages; keeps nothing."""
    with given(settings) as named, naming():
        return [TriedPrompt(*tried) for tried in _core.try_prompts(_plain(named))]


def run_job(task: str, settings: Mapping[str, Any], progress: Callable[[Progress], None] | None = None) -> RunResult:
    """Runs `expand`, `answer` or `annotate`."""
    lost: dict[str, str] = {}

    def finish(folder: str) -> None:
        """Changes and adds outputs before they take their places. A shard's pairs are judged with those of all."""
        if not settings.get("shard") and (found := leave_out_reversed(Path(folder))):
            lost.update(found)
            file = Path(folder) / "summary.json"
            _core.write_json(str(file), json.dumps(with_notes(read_object(file), found)))
        if task == "annotate" and (kept := Path(settings["trees"]).with_name("tokens.jsonl")).exists():
            shutil.copyfile(kept, Path(folder) / kept.name)
        add_report(folder)

    with given(settings) as named, naming():
        summary, left_open, recognised, rebuilt, why_open = _core.run_job(task, _plain(named), progress, finish)
    if recognised and not (Path(settings["out"]) / "report.html").exists():  # a program in C++ made this run
        renew_report(settings["out"])
    if rebuilt:
        names = ", ".join(rebuilt)
        log.warning("%s: was damaged and is made again from its journal: %s", settings["out"], names)
    return RunResult(Path(settings["out"]), with_notes(json.loads(summary), lost), left_open, recognised, why_open)


def told(result: RunResult) -> RunResult:
    """Tells the log if much of what the model said could not be read. Commands print it themselves."""
    if said := unread_warning(result.summary):
        log.warning("%s", said)
    return result


def expand(*, progress: Callable[[Progress], None] | None = None, **settings: Unpack[RunSettings]) -> RunResult:
    """Grows the trees of a file of questions and writes trees, training data, answers and a report.

    `espalier.parts.RunSettings` lists the settings, which are the options of `espalier expand`. The same call again
    continues a stopped run.

    The logger "espalier" warns at once of a server that has not replied for 30 s and of the first open question, which
    a view in `progress` shows itself, and at the end if much of what the model said could not be read.
    """
    return told(run_job("expand", settings, warning(progress)))


def answer(*, progress: Callable[[Progress], None] | None = None, **settings: Unpack[RunSettings]) -> RunResult:
    """Answers a file of questions by the method's inference form, which sees no gold. Settings as for `expand`."""
    return told(run_job("answer", settings, warning(progress)))


def write_world(
    out: str | os.PathLike[str], *, passages: int = 2000, questions: int = 100, seed: int = 1, max_hops: int = 4
) -> None:
    """Writes a generated world into a folder: questions.jsonl and corpus.jsonl."""
    _core.write_world(os.fspath(out), passages, questions, seed, max_hops)
