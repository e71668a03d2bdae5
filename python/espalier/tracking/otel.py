"""The course of a run as spans of OpenTelemetry."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .._core import build_info
from ..errors import InputError
from ..io.files import record_of
from ..tables import Run

OF_A_QUESTION = (
    *("question_id", "status", "oracle", "em", "f1", "acc"),
    *("calls", "prompt_tokens", "completion_tokens", "retrievals", "cached", "attempts"),
)
REALS = ("em", "f1", "acc", "seconds")
"""What is no integer where JSON has it whole: an attribute is always of one type."""
TOGETHER = 1000
"""Spans that are sent at a time; OpenTelemetry's queue drops what is more than 2,048."""


def spans(folder: str | os.PathLike[str], provider: Any = None) -> None:
    """Reports a finished run to OpenTelemetry: a span for the run, and in it one for each question, at their times.

    They go to a TracerProvider, the global one unless one is given, and are sent when this returns. The status of a
    question's span is its error, if it has one. Raises InputError if the folder holds no finished run, or no times.
    """
    from opentelemetry import trace

    run = Run(folder)
    rows = [{**row, "calls": row["completions"], "oracle": run.summary["oracle"]} for row in run.answers]
    if any(row["started"] is None for row in rows):
        raise InputError(f"{run.folder / 'costs.jsonl'}: field 'started': is missing (an earlier version wrote it)")
    provider = trace.get_tracer_provider() if provider is None else provider
    flush = getattr(provider, "force_flush", lambda: True)  # without the SDK there is nothing to send
    tracer = provider.get_tracer("espalier", build_info()["version"])
    begun = [round(row["started"] * 1e9) for row in rows]
    ended = [round((row["started"] + row["seconds"]) * 1e9) for row in rows]
    task = record_of(run.folder)["task"]
    whole = tracer.start_span(f"espalier.{task}", start_time=min(begun), attributes=attributes(run.summary))
    inside = trace.set_span_in_context(whole)
    for number, row in enumerate(rows):
        told = attributes({name: row[name] for name in OF_A_QUESTION})
        span = tracer.start_span("espalier.question", inside, start_time=begun[number], attributes=told)
        if row["error"] is not None:
            span.set_status(trace.StatusCode.ERROR, row["error"])
        span.end(ended[number])
        if number % TOGETHER == TOGETHER - 1:
            flush()
    whole.end(max(ended))
    flush()


def attributes(fields: Mapping[str, Any]) -> dict[str, str | int | float]:
    """The fields that are text or numbers."""
    plain = {name: value for name, value in fields.items() if isinstance(value, (str, int, float))}
    return {f"espalier.{name}": float(value) if name in REALS else value for name, value in plain.items()}
