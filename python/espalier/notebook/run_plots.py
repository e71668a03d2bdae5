"""Pictures of a run: scores, costs, what became of the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ..io.text import plain
from .picture import Picture, drawn

Row: TypeAlias = Mapping[str, Any]

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999", "#000000")
"""Told apart by all eyes (Okabe and Ito); hatches tell them apart in grey."""
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++", "**")


def scores(summary: Row, rows: Sequence[Row]) -> Picture:
    """Of answers that have scores."""

    def draw() -> Any:
        figure, axes = picture(summary, "F1", "questions")
        axes.hist([row["f1"] for row in rows], [i / 10 for i in range(11)], color=COLOURS[0], edgecolor="white")
        for colour, name in zip(COLOURS[1:], ("em", "f1", "acc"), strict=False):
            mean = sum(row[name] for row in rows) / len(rows)
            style, width = {"em": ("-", 4.5), "f1": ("-", 1.5), "acc": (":", 1.5)}[name]
            axes.axvline(mean, color=colour, linestyle=style, linewidth=width, label=f"mean {name}: {mean:.3f}")
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.legend(fontsize=7)
        return figure

    return drawn(draw)


def costs(summary: Row) -> Picture:
    spent = summary["by_purpose"]

    def draw() -> Any:
        figure, axes = picture(summary, "tokens", "")
        names = sorted(spent, key=lambda name: spent[name]["prompt_tokens"] + spent[name]["completion_tokens"])
        begin = [0] * len(names)
        labels = [plain(name).replace("_", " ") for name in names]
        for i, part in enumerate(("prompt_tokens", "completion_tokens")):
            count = [spent[name][part] for name in names]
            label = part.replace("_", " ")
            axes.barh(labels, count, left=begin, color=COLOURS[i], hatch=HATCHES[i], edgecolor="white", label=label)
            begin = [a + b for a, b in zip(begin, count, strict=True)]
        for i, name in enumerate(names):
            calls, found = spent[name]["calls"], spent[name]["retrievals"]
            notes = [f"{calls:,} calls"] * bool(calls) + [f"{found:,} retrievals"] * bool(found)
            axes.annotate(
                ", ".join(notes), (begin[i], i), xytext=(4, 0), textcoords="offset points", fontsize=7, va="center"
            )
        axes.margins(x=0.28)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.tick_params(axis="x", labelrotation=30)
        axes.legend(fontsize=7, loc="lower right")
        return figure

    return drawn(draw)


def nodes(summary: Row, rows: Iterable[Row]) -> Picture:
    counts = Counter((row["depth"], row["reason"] or row["status"]) for row in rows)

    def draw() -> Any:
        figure, axes = picture(summary, "depth", "nodes")
        depths = range(max((depth for depth, _ in counts), default=0) + 1)
        first = ["expanded", "terminal", "open"]
        fates = sorted({fate for _, fate in counts}, key=lambda fate: (fate not in first, fate))
        bottom = [0] * len(depths)
        for i, fate in enumerate(fates):
            count = [counts[depth, fate] for depth in depths]
            look: Any = {"color": COLOURS[i % len(COLOURS)], "hatch": HATCHES[i % len(HATCHES)], "edgecolor": "white"}
            label = fate.replace("_", " ") if fate in first else f"pruned: {fate.replace('_', ' ')}"
            axes.bar(depths, count, bottom=bottom, label=label, **look)
            bottom = [a + b for a, b in zip(bottom, count, strict=True)]
        axes.set_xticks(list(depths))
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    return drawn(draw)


def picture(summary: Row, across: str, up: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.2))
    axes = figure.add_subplot()
    model = "simulated model" if summary["simulated"] else plain(str(summary["model"]))
    title = f"{summary['method']}, {model}, {summary['questions']:,} questions" + ", oracle" * summary["oracle"]
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    return figure, axes
