"""Pictures of an evaluation: scores against cost, by hop count, and along sweeps."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from ..errors import one_line
from ..notebook.picture import LOOK, Picture
from .tables import finished

ABSENT = "no plots: matplotlib is not there (pip install matplotlib)"


def available() -> bool:
    return find_spec("matplotlib") is not None


def write_plots(result: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draws each picture as SVG and PNG, the same bytes for the same results. Returns the files."""
    import matplotlib

    files = []
    with matplotlib.rc_context(LOOK):
        runs = finished(result)
        for cost, label in (("calls", "calls per question"), ("tokens", "tokens per question")):
            if runs:
                files += save(against_cost(result, runs, cost, label), folder / f"f1_{cost}")
        if any(len(run["by_hops"]) > 1 for run in runs):
            files += save(along_hops(result, runs), folder / "f1_hops")
        swept = sorted(finished(result, swept=True), key=lambda run: (run["method"], run["point"][0]))
        for (method, option), points in groupby(swept, key=lambda run: (run["method"], run["point"][0])):
            name = f"sweep_{method}_{option}".replace("/", "_")
            files += save(along_sweep(result, list(points), method, option), folder / name)
    return files


def picture(result: Mapping[str, Any], title: str, across: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.add_subplot()
    model = "simulated model" if result["simulated"] else one_line(str(result["model"]))
    axes.set_title(f"{title}\n{model}, {result['questions']} questions")
    axes.set_xlabel(across)
    axes.set_ylabel("F1 (%)")
    axes.grid(alpha=0.3)
    return figure, axes


def save(figure: Any, target: Path) -> list[Path]:
    target.parent.mkdir(parents=True, exist_ok=True)
    return [Picture(figure).save(target.with_name(target.name + ending)) for ending in (".svg", ".png")]


def against_cost(result: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], cost: str, label: str) -> Any:
    figure, axes = picture(result, f"Score against {cost}", f"{label} (logarithmic)")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="x", which="both", labelrotation=45)
    ranked = sorted((run for run in runs if run[cost]), key=lambda run: (-run["f1"], run["name"]))
    for rank, run in enumerate(ranked, 1):
        low, high = run["intervals"]["f1"]
        f1, color = 100 * run["f1"], f"C{rank % 10}"
        errors = [[max(0.0, f1 - 100 * low)], [max(0.0, 100 * high - f1)]]
        name = f"{rank}  {run['name']}"
        axes.errorbar(run[cost], f1, yerr=errors, fmt="o", color=color, elinewidth=0.6, alpha=0.7, label=name)
        axes.annotate(str(rank), (run[cost], f1), xytext=(4, 3), textcoords="offset points", fontsize=7, color=color)
    if ranked:
        axes.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1), title="by F1", title_fontsize=7)
    return figure


def along_hops(result: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Any:
    figure, axes = picture(result, "Score by number of hops", "hops")
    counts = sorted({group["hops"] for run in runs for group in run["by_hops"]})
    for number, run in enumerate(runs):
        style = ["-", "--", ":"][number // 10 % 3]
        hops = [counts.index(group["hops"]) for group in run["by_hops"]]
        axes.plot(hops, [100 * g["f1"] for g in run["by_hops"]], style, marker="o", label=run["name"])
    axes.set_xticks(range(len(counts)), [str(hops or "unknown") for hops in counts])
    axes.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def along_sweep(result: Mapping[str, Any], points: Sequence[Mapping[str, Any]], method: str, option: str) -> Any:
    figure, axes = picture(result, f"{method}: score along {option}", option)
    low, high = zip(*(run["intervals"]["f1"] for run in points), strict=True)
    axes.fill_between(range(len(points)), [100 * x for x in low], [100 * x for x in high], alpha=0.2)
    axes.plot(range(len(points)), [100 * run["f1"] for run in points], marker="o")
    for i, run in enumerate(points):
        calls = "?" if run["calls"] is None else f"{run['calls']:.1f}"
        axes.annotate(f"{calls} calls", (i, 100 * run["f1"]), xytext=(4, 4), textcoords="offset points", fontsize=7)
    axes.set_xticks(range(len(points)), [one_line(run["point"][1]) for run in points])
    return figure
