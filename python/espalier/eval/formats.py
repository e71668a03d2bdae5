"""Tables as Markdown, CSV and LaTeX."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..io import text
from .scores import COSTS, FOUND, METRICS
from .tables import Cell, Table, said_of_all


def shown(cell: Cell, escape: Callable[[str], str], nothing: str) -> str:
    return nothing if cell is None else escape(str(cell))


def to_markdown(tables: Sequence[Table], said: Sequence[str]) -> str:
    lines = []
    for table in tables:
        lines += [f"### {text.markdown(table.title)}", ""]
        lines.append("| " + " | ".join(map(text.markdown, table.header)) + " |")
        lines.append("|---" * table.left + "|---:" * (len(table.header) - table.left) + "|")
        for row in table.rows:
            lines.append("| " + " | ".join(shown(cell, text.markdown, "-") for cell in row) + " |")
        lines += ["", *(f"- {text.markdown(note)}" for note in (*said, *table.notes)), ""]
    return "\n".join(lines)


def to_latex(tables: Sequence[Table], said: Sequence[str]) -> str:
    """Tabulars in floats. They need only the packages of a LaTeX from 2020 or later."""
    lines = []
    for table in tables:
        columns = "l" * table.left + "r" * (len(table.header) - table.left)
        caption = ". ".join([table.title, *said, *table.notes])
        lines += [r"\begin{table}", r"\centering", f"\\begin{{tabular}}{{{columns}}}", r"\hline"]
        lines += [" & ".join(map(text.latex, table.header)) + r" \\", r"\hline"]
        lines += [" & ".join(shown(cell, text.latex, "-") for cell in row) + r" \\" for row in table.rows]
        lines += [r"\hline", r"\end{tabular}", f"\\caption{{{text.latex(caption)}.}}", r"\end{table}", ""]
    return "\n".join(lines)


def to_csv(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (header, *rows):
        writer.writerow([text.csv_cell(c) if isinstance(c, str) else "" if c is None else repr(c) for c in row])
    return out.getvalue()


def runs_csv(result: Mapping[str, Any]) -> str:
    """All runs, those of sweeps included, with every mean as it is."""
    figures = ["questions", "open", "null_predictions", "stopped_by_budget", *METRICS, *FOUND]
    figures += [cost for cost in COSTS if cost != "tokens"]
    header = ["run", "status", "model", "option", "value", *figures, "own_profile", "own_em", "own_f1", "own_acc"]
    for metric in METRICS:
        header += [f"{metric}_low", f"{metric}_high"]
        header += [f"{metric}_{name}" for name in ("difference", "difference_low", "difference_high", "p", "p_holm")]
    header.append("error")
    rows: list[list[Cell]] = []
    model = "simulated model" if result["simulated"] else str(result["model"])
    for run in result["runs"]:
        own = run.get("profiles", {}).get(run.get("own_profile"), {})
        row = [run["name"], run["status"], model, *(run["point"] or (None, None)), *(run.get(name) for name in figures)]
        row += [run.get("own_profile"), *(own.get(metric) for metric in METRICS)]
        for metric in METRICS:
            row += run.get("intervals", {}).get(metric, (None, None))
            test = (run.get("against_baseline") or {}).get(metric)
            row += [test["difference"], *test["interval"], test["p"], test["p_holm"]] if test else [None] * 5
        rows.append([*row, run["error"]])
    return to_csv(header, rows)


def written(result: Mapping[str, Any], tables: Sequence[Table]) -> dict[str, str]:
    """The table files by name."""
    said = said_of_all(result)
    files = {"table.md": to_markdown(tables, said), "table.tex": to_latex(tables, said), "table.csv": runs_csv(result)}
    hops = [table for table in tables if table.name == "hops"]
    model = "simulated model" if result["simulated"] else str(result["model"])
    for table in hops:
        files["hops.csv"] = to_csv(["model", *table.header], [[model, *row] for row in table.rows])
    return files
