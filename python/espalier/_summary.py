"""A run's summary.json for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> list[str]:
    """Lines with columns side by side, the first `left` of them on the left."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return [
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def labels(summary: dict[str, Any]) -> str:
    """What must be said wherever the results are shown."""
    said = []
    if summary["simulated"]:
        said.append("simulated: no real language model was asked")
    if summary["oracle"]:
        said.append("oracle: gold answers steered the trees")
    return "".join(f"  [{label}]\n" for label in said)


def readable(summary: dict[str, Any]) -> str:
    """The summary as text."""
    backends = f"model {summary['model']}, retriever {summary['retriever']}"
    lines = [f"{summary['method']}: {summary['questions']} questions, {backends}"]
    if said := labels(summary).rstrip("\n"):
        lines.append(said)
    if summary["f1"] is not None:
        scores = "   ".join(f"{name} {summary[key]:.3f}" for name, key in (("EM", "em"), ("F1", "f1"), ("Acc", "acc")))
        lines.append(f"  {scores}   without an answer {summary['null_predictions']}")
    states = [f"{name} {summary[name]}" for name in ("done", "budget", "open", "failed") if summary[name]]
    lines.append("  questions: " + ", ".join(states))
    total = ("all", summary["calls"], summary["prompt_tokens"], summary["completion_tokens"], summary["retrievals"])
    rows = [
        (name, c["calls"], c["prompt_tokens"], c["completion_tokens"], c["retrievals"])
        for name, c in summary["by_purpose"].items()
    ]
    header = ("purpose", "calls", "prompt tokens", "completion tokens", "retrievals")
    lines += [
        "  " + line
        for line in table(header, ([name, *(f"{n:,}" for n in numbers)] for name, *numbers in [*rows, total]))
    ]
    pruned = [f"{reason} {count:,}" for reason, count in summary["pruned"].items() if count]
    lines.append(f"  {summary['nodes']:,} nodes; pruned: " + (", ".join(pruned) or "none"))
    lines += [f"  {file}: {note}" for file, note in summary.get("notes", {}).items()]
    lines.append(f"  {summary['seconds']:.1f} s")
    return "\n".join(lines)
