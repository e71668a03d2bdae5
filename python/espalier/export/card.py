"""The data card: where the rows come from, how they were made, how many there are, who owns them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..io.text import markdown
from .format import Choices
from .lengths import Report


@dataclass(frozen=True)
class Exported:
    """A file that was written."""

    path: Path
    format: str
    product: str
    """The run's file that it was made of, without .jsonl."""
    rows: int
    trainers: tuple[str, ...]
    lengths: list[Report] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    """Pairs, rows and steps that are not learned, by reason."""


def tabled(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [header, ["---"] * len(header), *([markdown(str(cell)) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def front(files: Sequence[Exported]) -> list[str]:
    """What dataset hubs read: each file as a configuration of its own. JSON texts are YAML texts."""
    configs = [
        line
        for file in files
        for line in (f"- config_name: {json.dumps(file.format)}", f"  data_files: {json.dumps(file.path.name)}")
    ]
    return ["---", "configs:", *configs, "---", ""]


def warnings(summary: Mapping[str, Any]) -> list[str]:
    said = []
    if summary.get("simulated"):
        said.append("**Simulated:** no real language model was asked. The rows are to try tools with, not to train on.")
    if summary.get("oracle"):
        said.append("**Oracle:** gold answers steered the search. Do not compare its answers with those of a model.")
    return [line for text in said for line in (text, "")]


def card(
    run: Mapping[str, Any],
    summary: Mapping[str, Any],
    files: Sequence[Exported],
    choices: Choices,
    licences: Sequence[str],
) -> str:
    """The card as Markdown, from a run's run.json and summary.json."""
    model = run.get("model", {})
    origin = [
        ("method", run.get("method", "")),
        ("model", " ".join(filter(None, (model.get("name"), model.get("revision"))))),
        ("retriever", run.get("retriever", {}).get("kind", "")),
        ("questions", f"{summary.get('questions')}, of which {summary.get('done')} done"),
        ("hash of the questions", run.get("inputs", {}).get("questions", "")),
        ("hash of the corpus", run.get("inputs", {}).get("corpus", "")),
        ("run", f"{run.get('identity', '')}, seed {run.get('seed')}, espalier {run.get('version', '')}"),
    ]
    made = [
        (file.path.name, file.format, f"{file.product}.jsonl", f"{file.rows:,}", ", ".join(file.trainers))
        for file in files
    ]
    lines = [*front(files), "# Training data from reasoning trees", "", *warnings(summary)]
    lines += ["## Where it comes from", "", *tabled(("", ""), origin)]
    lines += ["## Files", "", *tabled(("file", "format", "made from", "rows", "for"), made)]
    if choices.style == "tools":
        lines += ["Actions are calls of tools, whose schemas stand in the column `tools`.", ""]
    else:
        lines += [f"Prompts and completions are {choices.style}, where a format has both forms.", ""]
    if lengths := [(file, report) for file in files for report in file.lengths]:
        assert choices.tokenizer is not None
        lines += ["## Lengths", "", f"Tokens of the tokenizer {markdown(choices.tokenizer.name)}.", ""]
        rows = [
            (file.path.name, r.trainer, r.rule, f"{r.longest:,}", *(f"{r.rows[v]:,}" for v in VERDICTS))
            for file, r in lengths
        ]
        lines += tabled(("file", "trainer", "what it does", "longest", *VERDICTS), rows)
    lines += ["## Licences", ""]
    lines += [f"- {markdown(licence)}" for licence in licences] or ["Not stated. Questions and passages keep theirs."]
    lines += ["", "## Options of the run", "", *tabled(("option", "value"), sorted(run.get("options", {}).items()))]
    return "\n".join(lines)


VERDICTS = ("kept", "cut", "dropped", "refused")
