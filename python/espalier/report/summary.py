"""The head of a report: a run's summary as static HTML, readable without scripts.

Known members have their own place. Every other object is shown as a table, so a method may add its own counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import one_line

TILES = {"em": "exact match", "f1": "F1", "acc": "accuracy", "calls": "calls", "retrievals": "retrievals"}
SCORES = ("em", "f1", "acc")
RARE = ("cut_read", "refused", "repairs", "repaired", "constrained")
"""Counts that get no column where no row has them."""
BADGES = {
    "oracle": ("oracle", "gold answers steered these searches: no comparison with methods that do not see them"),
    "simulated": ("simulated model", "a program with set skills wrote model texts: no measure of a real model"),
}
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def escaped(text: str) -> str:
    """Text as one line of HTML text or inside a quoted attribute."""
    return one_line(text).translate(ESCAPES)


def words(name: str) -> str:
    return escaped(name.replace("_", " "))


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def shown(value: object) -> str:
    """A short form of a scalar: whole numbers in groups of three digits, others with three decimals, null as a dash."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}" if isinstance(value, float) else "\u2013"


def bar(share: float) -> str:
    """A bar that fills `share` in [0, 1] of its width."""
    width = int(min(max(share, 0), 1) * 1000 + 0.5)
    return (
        '<svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="1000" '
        f'height="10"/><rect class="bar" width="{width}" height="10"/></svg>'
    )


def flags_of(*summaries: Mapping[str, Any]) -> list[str]:
    """The flags of BADGES that a summary sets. They hold for every score of its run."""
    return [flag for flag in BADGES if any(summary.get(flag) is True for summary in summaries)]


def title_of(summary: Mapping[str, Any]) -> str:
    method = summary.get("method")
    return f"{method if isinstance(method, str) else ''} on {shown(summary.get('questions'))} questions"


def head(summary: Mapping[str, Any]) -> str:
    said = (BADGES[flag] for flag in flags_of(summary))
    badges = "".join(f'<p class="badge"><b>{name}</b><span>: {meaning}</span></p>' for name, meaning in said)
    return "".join(
        (
            '<header class="top">\n<div class="title"><div><p class="brand">Espalier</p>\n',
            f'<h1>{escaped(title_of(summary))}</h1></div>\n<div class="badges">{badges}</div></div>\n',
            '<div class="tiles">\n',
            *(tile(name, summary[name]) for name in TILES if name in summary),
            '</div>\n<details class="run" open><summary>All numbers of the run</summary>\n<p class="card facts">',
            *(f"<span>{words(name)} <b>{escaped(shown(value))}</b></span>\n" for name, value in facts(summary)),
            '</p>\n<div class="cards">\n',
            *(table(name, rows) for name, rows in summary.items() if isinstance(rows, dict) and rows),
            "</div></details>\n</header>\n",
        )
    )


def tile(name: str, value: Any) -> str:
    score = name in SCORES
    figure = f"{100 * value:.1f} %" if score and isinstance(value, (int, float)) else shown(value)
    return (
        f'<div class="tile"><b>{escaped(figure)}</b><span>{TILES[name]}</span>'
        f"{bar(value if is_number(value) else 0) if score else ''}</div>\n"
    )


def facts(summary: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The scalars that no tile and no badge says ("model": "simulated" is one), but not the seconds. A clock gave them,
    and equal trees give equal pages."""
    flags = flags_of(summary)
    for name, value in summary.items():
        if name not in (*TILES, *flags, "seconds") and value not in flags and not isinstance(value, (dict, list)):
            yield name, value


def table(name: str, rows: Mapping[str, Any]) -> str:
    """An object of numbers with bars, or an object of such objects with one row each."""
    first = next(iter(rows.values()))
    if isinstance(first, dict):
        return nested_table(name, rows, first)
    most = max((value for value in rows.values() if is_number(value)), default=0)
    lines = "".join(
        row(key, [value], (value / most if most > 0 else 0) if is_number(value) else None)
        for key, value in rows.items()
    )
    return card(name, f"<tbody>\n{lines}</tbody>", " wide" if isinstance(first, str) else "")


def nested_table(name: str, rows: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    cells = {key: value if isinstance(value, dict) else {} for key, value in rows.items()}
    columns = [column for column in first if column not in RARE or any(one.get(column) != 0 for one in cells.values())]
    heads = "".join(f'</th><th scope="col"{kind(first[column])}>{words(column)}' for column in columns)
    lines = "".join(row(key, [one.get(column) for column in columns]) for key, one in cells.items())
    return card(name, f"<thead><tr><th>{heads}</th></tr></thead><tbody>\n{lines}</tbody>", " wide")


def card(name: str, rows: str, wide: str) -> str:
    table = f'<div class="scroll"><table>{rows}</table></div>'
    return f'<section class="card{wide}"><h3>{words(name)}</h3>{table}</section>\n'


def kind(value: object) -> str:
    """Texts wrap, numbers do not."""
    return ' class="words"' if isinstance(value, str) else ""


def row(name: str, values: Sequence[object], share: float | None = None) -> str:
    """`share`: the length of a bar, 0 to 1."""
    texts = "".join(f"</td><td{kind(value)}>{escaped(shown(value))}" for value in values)
    chart = "" if share is None else f'</td><td class="chart">{bar(share)}'
    return f"<tr><td>{words(name)}{texts}{chart}</td></tr>\n"
