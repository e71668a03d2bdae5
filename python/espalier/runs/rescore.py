"""Recorded runs under other options, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from .._core import Progress
from ..errors import BackendError, InputError
from ..io.files import record_of
from .given import NOWHERE
from .job import RunResult, run_job


def unknown(requests: list[Any]) -> NoReturn:
    """Stands for a function of a recorded run."""
    raise BackendError("this was a function of the program that made the run: give it again", permanent=True)


def recorded(run: Path) -> dict[str, Any]:
    """The settings that repeat the run, with its options as texts in `set`."""
    fields = record_of(run)

    def record(name: str, absent: object = None) -> Any:
        """A field by its dotted name, or `absent` for records of versions that did not have it yet."""
        value: Any = fields
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        kind = dict if name == "options" else int if name in ("seed", "limit", "retriever.rerank_depth") else str
        if not isinstance(value, kind) and (value is not None or absent is None):
            wrong = "is missing" if value is None else "is of another type"
            raise InputError(f"{run / 'run.json'}: is no record of a run (field '{name}': {wrong})")
        return absent if value is None else value

    model, retriever = record("model.name"), record("retriever.kind")
    encoder, value, reranker = (record(name, "") for name in ("encoder.name", "value.name", "retriever.reranker"))
    functions = record("noted.given", "").split(", ")

    given = {name: value for name, value in record("options").items() if value is not None}
    older = {"thinking": record("model.thinking", ""), "choice": given.pop("select", None)}  # as they were named
    options = {name: value for name, value in older.items() if value} | given
    lost = None
    if "prune" in functions:
        lost = partial(unknown)
        vars(lost)["name"] = options.pop("prune")

    def where(part: str) -> Any:
        return unknown if part in functions else NOWHERE

    return {
        "task": record("task"),
        "method": record("method"),
        "questions": record("noted.questions"),
        "corpus": record("noted.corpus", ""),
        "index": record("noted.index", ""),
        "prompts": record("noted.prompts", ""),
        "limit": record("limit"),
        "shard": record("shard", ""),
        "seed": record("seed"),
        "model": "simulated" if model == "simulated" else where("model"),
        "model_name": "" if model == "simulated" else model,
        "model_revision": record("model.revision", ""),
        "api": record("model.api", "chat"),
        "extra_body": record("model.extra_body", ""),
        "models": {
            purpose: (name, "") if name == "simulated" else (where(f"model:{purpose}"), name)
            for purpose, _, name in (entry.partition("=") for entry in record("model.for", "").split(", ") if entry)
        },
        "retriever": where("retriever") if retriever in ("remote", "given") else retriever,
        "retriever_name": record("retriever.name", "default"),
        "encoder": where("encoder") if encoder else "",
        "encoder_name": encoder,
        "encoder_profile": record("encoder.profile", "none"),
        "values": where("values") if value else "",
        "value_name": value or None,
        "reranker": f"{NOWHERE}/rerank" if reranker else "",
        "reranker_name": reranker,
        "rerank_depth": record("retriever.rerank_depth", 0) or 1,
        "keep_tokens": (run / "tokens.jsonl").exists(),
        "journal_file": record("noted.journal", "") or str(run / "journal.sqlite"),
        "prune": lost,
        "set": options,
    }


def rescore(
    run: str | Path, set: Mapping[str, object], *, out: str | Path, progress: Callable[[Progress], None] | None = None
) -> RunResult:
    """Repeats a recorded run under other options, with every answer from its journal. No model is called.

    A question stays open if its search needs a response that the journal lacks, such as one for a branch that was never
    grown. The summary counts it as `undetermined`. The folder `out` gets the same files as a run. Raises InputError if
    `run` holds no run, and ValueError for a bad option.
    """
    folder = Path(run)
    settings = recorded(folder)
    if not Path(settings["journal_file"]).exists():
        raise InputError(f"{settings['journal_file']}: the run kept no journal, so nothing can be scored again")
    settings["set"] |= set
    result = run_job(settings.pop("task"), settings | {"out": str(out), "replay": True}, progress)
    return replace(result, summary=result.summary | {"undetermined": result.open})
