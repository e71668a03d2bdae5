"""The model card: what the model is, what it was trained on, and with what result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..export.card import tabled
from ..io.text import markdown


def figure(value: Any) -> str:
    """A number for people."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


def noted(record: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """What a stage measured of its own, such as the errors of value heads and the accuracy of a reward model."""
    for part in ("values", "pairs", "states"):
        for name, value in (record.get(part) or {}).items():
            if isinstance(value, Mapping):
                yield from ((f"{part}, {name}", inner, number) for inner, number in value.items())
            else:
                yield part, name, value


def card(record: Mapping[str, Any]) -> str:
    """The card as Markdown, from the content of training.json."""
    model = record["model"]
    begin = "random weights" if model["kind"] == "micro" else f"{markdown(model['name'])} ({model['hash']})"
    lines = [f"# A model trained by `espalier train {record['stage']}`", ""]
    if record["simulated"]:
        lines += [
            "**Simulated data:** no real language model wrote the rows. The model has learned a generated world.", ""
        ]  # fmt: skip
    lines += ["## What it was trained on", ""]
    header = ("file", "hash", "rows", "method", "run")
    rows = [
        (one["file"], one["hash"], f"{one['rows']:,}", one["run"].get("method", ""), one["run"].get("identity", ""))
        for one in record["rows"]
    ]
    lines += tabled(header, rows)
    if report := record.get("lengths"):
        lines += [
            f"{report['rows']:,} rows with {report['tokens']:,} tokens, {report['learned']:,} of them in the loss.",
            "",
        ]
        lines += [f"{n:,} rows were left out: {why}.\n" for why, n in report["dropped"].items()]
    lines += ["## Figures", ""]
    figures = [("first weights", begin)]
    figures += [
        (name, figure(record[name]))
        for name in ("steps", "tokens", "loss", "eval_loss")
        if record.get(name) is not None
    ]
    figures += [(f"{part}: {name}", figure(value)) for part, name, value in noted(record)]
    lines += tabled(("figure", "value"), figures)
    lines += ["## Options", "", *tabled(("option", "value"), sorted(record["options"].items()))]
    lines += ["## Versions", "", *tabled(("package", "version"), record["versions"].items())]
    return "\n".join(lines)
