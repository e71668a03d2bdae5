"""results.json as a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

PERCENT = ("em", "f1", "average")


def shown(values: list[float], percent: bool) -> str:
    """Mean (low to high), in points of 100 where it is a share."""
    mean, low, high = (100 * value if percent else value for value in values)
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def overview(rows: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """A line of the table for each claim."""
    yield "| claim | source | model | seeds | questions | verdict |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        sizes = [str(row.get(name, "")) for name in ("seeds", "questions")]
        said = f"**{row['verdict']}**" + (", for one seed" if row.get("seeds") == 1 else "")
        yield f"| {row['claim']} | {row['source']} | {row['model']} | {' | '.join(sizes)} | {said} |"


def details(row: Mapping[str, Any]) -> Iterable[str]:
    """What was measured for one claim."""
    yield f"### {row['name']}"
    yield ""
    model = f" Model: {row['model']}." if row["model"] else ""
    yield f"{row['claim']} ({row['source']}): **{row['verdict']}**.{model}"
    for text in (row["remark"], row.get("reason", "")):
        if text:
            yield f"{text[0].upper()}{text[1:]}."
    yield ""
    if "arms" not in row:
        return
    names = list(next(iter(row["arms"].values())))
    yield f"| arm | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for arm, figures in row["arms"].items():
        yield f"| {arm} | {' | '.join(shown(figures[name], name in PERCENT) for name in names)} |"
    yield ""
    yield "| compared | difference | |"
    yield "|---|---|---|"
    for one in row["comparisons"]:
        yield f"| {one['label']} | {shown(one['values'], one['percent'])} | {one['verdict']} |"
    yield ""


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table of verdicts, then the figures of each claim."""
    lines = [*overview(rows), ""]
    for row in rows:
        lines += details(row)
    return "\n".join(lines).rstrip() + "\n"
