"""Runs that read files and write a folder: what the command line does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from . import _core
from ._core import Progress


@dataclass(frozen=True)
class RunResult:
    """What a run left: its folder, the content of summary.json, and the number of questions that are still open."""

    out: Path
    summary: dict[str, Any]
    open: int
    recognised: bool
    """The folder held this very run already, finished."""


Job: TypeAlias = Callable[[str, Mapping[str, Any], Callable[[Progress], None] | None], RunResult]
"""What does a task under settings and tells its progress: `run_job`, or that with something beside it."""


def text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the compiled part takes them; those that are None keep their default."""
    plain = {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in settings.items() if v is not None}
    if not isinstance(body := plain.get("extra_body", ""), str):
        plain["extra_body"] = json.dumps(body)
    if "set" in plain:
        plain["set"] = [(name, text_of(value)) for name, value in dict(plain["set"]).items()]
    return plain


def check(task: str, settings: Mapping[str, Any]) -> None:
    """Raises ValueError for unknown or bad settings, without running anything."""
    _core.check_job(task, _plain(settings))


def run_job(task: str, settings: Mapping[str, Any], progress: Callable[[Progress], None] | None = None) -> RunResult:
    """Runs `expand` or `answer`."""
    summary, left_open, recognised = _core.run_job(task, _plain(settings), progress)
    return RunResult(Path(settings["out"]), json.loads(summary), left_open, recognised)


def expand(*, progress: Callable[[Progress], None] | None = None, **settings: Any) -> RunResult:
    """Grows the trees of a file of questions and writes trees, training data, answers and a report.

    Settings are the options of `espalier expand`, with underscores: questions, corpus or index, out, method, model,
    model_name, endpoints=["URL*WEIGHT", "PURPOSE=URL", ...], model_revision, models={purpose: (model, name)}, api,
    server, native_n, stream, extra_body, ca_file, proxy, api_key_file, retriever, retriever_name, retriever_protocol,
    reranker, reranker_name, rerank_depth, encoder, encoder_name, encoder_profile, encoder_cut, value_server,
    value_name, value_head, prompts, limit, seed, in_flight, open_questions, timeout, deadline, attempts, hedge,
    overwrite, journal_file (shared with other runs), journal (False = none), replay, and set={option: value} for the
    search options. Run again with the same settings, it goes on where it was stopped.
    """
    return run_job("expand", settings, progress)


def answer(*, progress: Callable[[Progress], None] | None = None, **settings: Any) -> RunResult:
    """Answers a file of questions by the method's inference form, which sees no gold; writes answers.jsonl and more.

    Settings as for `expand`.
    """
    return run_job("answer", settings, progress)


def write_world(
    out: str | os.PathLike[str], *, passages: int = 2000, questions: int = 100, seed: int = 1, max_hops: int = 4
) -> None:
    """Writes a generated world into a folder: questions.jsonl and corpus.jsonl."""
    _core.write_world(os.fspath(out), passages, questions, seed, max_hops)
