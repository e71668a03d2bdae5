"""Recorded runs under other options, without a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ._core import Progress
from ._errors import InputError
from ._job import RunResult, run_job

NOWHERE = "http://replayed.invalid/v1"  # the name that is reserved for hosts that do not exist: nothing is ever sent


def recorded(run: Path) -> dict[str, Any]:
    """The settings that would do the run again, its options as texts in `set`."""
    file = run / "run.json"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        model, retriever, encoder = record["model"], record["retriever"], record["encoder"]
        noted, value_name = record["noted"], record["value"]["name"]
    except FileNotFoundError:
        raise InputError(f"{file}: there is no run in this folder") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: is no record of a run ({error})") from None
    remote = retriever["kind"] == "remote"
    return {
        "task": record["task"],
        "method": record["method"],
        "questions": noted["questions"],
        "corpus": noted["corpus"],
        "index": noted.get("index", ""),
        "prompts": noted["prompts"],
        "limit": record["limit"],
        "seed": record["seed"],
        "model": "simulated" if model["name"] == "simulated" else NOWHERE,
        "model_name": "" if model["name"] == "simulated" else model["name"],
        "model_revision": model["revision"],
        "api": model["api"],
        "extra_body": model["extra_body"],
        "models": {
            purpose: (name, "") if name == "simulated" else (NOWHERE, name)
            for purpose, _, name in (entry.partition("=") for entry in model["for"].split(", ") if entry)
        },
        "retriever": NOWHERE if remote else retriever["kind"],
        "retriever_name": retriever["name"],
        "encoder": NOWHERE if encoder["name"] else "",
        "encoder_name": encoder["name"],
        "encoder_profile": encoder["profile"],
        "encoder_cut": encoder["cut"],
        "value_server": NOWHERE if value_name else "",
        "value_name": value_name or None,
        "reranker": f"{NOWHERE}/rerank" if retriever["reranker"] else "",
        "reranker_name": retriever["reranker"],
        "rerank_depth": retriever["rerank_depth"] or 1,
        "journal_file": noted["journal"] or str(run / "journal.sqlite"),
        "set": {name: value for name, value in record["options"].items() if value is not None},
    }


def rescore(
    run: str | Path,
    set: Mapping[str, object],
    *,
    out: str | Path,
    progress: Callable[[Progress], None] | None = None,
) -> RunResult:
    """Does a recorded run again under other options, with every answer from its journal: no model is asked.

    Questions whose search would have asked for something that was never asked, such as a branch that a threshold left
    ungrown, are left open and counted as `undetermined` in the result's summary. The folder `out` holds the same files
    as a run's.
    Raises InputError if `run` holds no run, ValueError for a bad option.
    """
    folder = Path(run)
    settings = recorded(folder)
    if not Path(settings["journal_file"]).exists():
        raise InputError(f"{settings['journal_file']}: the run kept no journal, so nothing can be scored again")
    settings["set"] |= set
    result = run_job(settings.pop("task"), settings | {"out": str(out), "replay": True}, progress)
    return replace(result, summary=result.summary | {"undetermined": result.open})
