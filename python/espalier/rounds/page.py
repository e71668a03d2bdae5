"""rounds.html: the table and a picture of EM over the rounds, in one file without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..eval.text import plain
from .table import rounds_table

WIDTH, HEIGHT, LEFT, BELOW = 480, 220, 40, 30
STYLE = (
    "body{font:15px system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse}"
    "td,th{padding:.3em .7em;text-align:right;border-bottom:1px solid #ccc}"
    "td:nth-child(-n+2),th:nth-child(-n+2){text-align:left}text{font:12px system-ui,sans-serif}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def text(value: object) -> str:
    """Text in which nothing acts as markup or control sequence."""
    return escape(plain(str(value)))


def page(result: Mapping[str, Any]) -> str:
    table = rounds_table(result)
    cells = [[text("-" if cell is None else cell) for cell in row] for row in table.rows]
    head = "".join(f"<th>{text(name)}</th>" for name in table.header)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    items = "\n".join(f"<li>{text(note)}</li>" for note in table.notes)
    title = text(f"Rounds of {result['method']}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{title} · Espalier</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f"{picture(points(result))}\n<table>\n<tr>{head}</tr>\n{body}\n</table>\n<ul>\n{items}\n</ul>\n</body>\n</html>\n"
    )


def points(result: Mapping[str, Any]) -> list[tuple[str, float, float, float]]:
    """For the start and each round: its name, EM, and the ends of the interval, 0 to 1."""
    named = [("start", result["start"]), *((f"round {one['round']}", one["answers"]) for one in result["rounds"])]
    return [(name, answers["em"]["mean"], *answers["em"]["interval"]) for name, answers in named]


def picture(of: Sequence[tuple[str, float, float, float]]) -> str:
    """EM over the rounds with intervals, as SVG."""

    def x(i: int) -> float:
        return LEFT + (i + 0.5) * (WIDTH - LEFT) / len(of)

    def y(share: float) -> float:
        return 10 + (1 - share) * (HEIGHT - BELOW - 10)

    parts = [
        f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(s / 4):.1f}" y2="{y(s / 4):.1f}" stroke="#ddd"/>'
        f'<text x="{LEFT - 6}" y="{y(s / 4) + 4:.1f}" text-anchor="end">{25 * s}</text>'
        for s in range(5)
    ]
    line = " ".join(f"{x(i):.1f},{y(em):.1f}" for i, (_, em, _, _) in enumerate(of))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1b6e3c"/>')
    for i, (name, em, low, high) in enumerate(of):
        parts.append(
            f'<line x1="{x(i):.1f}" x2="{x(i):.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}" stroke="#1b6e3c"/>'
            f'<circle cx="{x(i):.1f}" cy="{y(em):.1f}" r="4" fill="#1b6e3c"/>'
            f'<text x="{x(i):.1f}" y="{HEIGHT - 10}" text-anchor="middle">{text(name)}</text>'
            f'<text x="{x(i) + 8:.1f}" y="{y(em) - 6:.1f}">{100 * em:.1f}</text>'
        )
    label = "EM of held-out questions in percent, with 95 % intervals"
    return (
        f'<figure><svg role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">'
        f"{''.join(parts)}</svg><figcaption>{label}</figcaption></figure>"
    )
