"""The picture of the losses, or of the rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw_curve(file: Path, lines: list[dict[str, Any]]) -> None:
    """Draws the losses of metrics.jsonl over the steps, or the mean rewards where there are any. Without matplotlib
    there is no picture."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    rewarded = any("reward" in line for line in lines)
    losses = (("loss", "training"), ("eval_loss", "held out"))
    for name, label in (("reward", "samples"),) if rewarded else losses:
        points = [(line["step"], line[name]) for line in lines if name in line]
        if points:
            axes.plot(*zip(*points, strict=True), label=label, marker="o" if name == "eval_loss" else "")
    axes.set_xlabel("step")
    axes.set_ylabel("reward" if rewarded else "loss")
    if axes.has_data():
        axes.legend()
    FigureCanvasAgg(figure)
    figure.savefig(file, dpi=120, metadata={"Software": None})
