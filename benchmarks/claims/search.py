"""Arms that search: a run of a method by the model that is asked."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import espalier as esp
from espalier.eval import score

from .frame import Frame, NotRun, identity, name_of
from .verdict import Row


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def named(model: str) -> str:
    """A model as runs name it."""
    return model if model == "simulated" or model.startswith("gguf:") else f"hf:{model}?batch=64"


def figures(run: Path, questions: Path) -> list[dict[str, float]]:
    """EM, F1, calls, retrievals and thousands of tokens of each question. A failed question counts as a wrong answer.
    Raises NotRun where most replies cannot be read: such a model does not know the prompts."""
    golds = {row["id"]: row["golden_answers"] for row in lines(questions)}
    purposes = json.loads((run / "summary.json").read_text())["by_purpose"].values()
    if 2 * sum(one["readable"] for one in purposes) < sum(one["calls"] for one in purposes):
        raise NotRun("the model's replies to these prompts cannot be read")
    rows = []
    for row in lines(run / "answers.jsonl"):
        scored = score("common", row["answer"] or "", golds[row["id"]])
        tokens = (row["prompt_tokens"] + row["completion_tokens"]) / 1000
        costs = {"calls": row["completions"], "retrievals": row["retrievals"], "tokens": tokens}
        rows.append({"em": scored["em"], "f1": scored["f1"], **costs})
    return rows


@dataclass(frozen=True)
class Search:
    """A run of `expand` or `answer`."""

    method: str
    options: Mapping[str, object] = field(default_factory=dict)
    task: str = "answer"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further keywords of the run. A function is known by `NAME_name` beside it."""
    more: Callable[[Path, Path], list[dict[str, float]]] | None = None
    """Further figures of each question, from the run's folder and the file of questions."""

    def model(self, frame: Frame) -> str:
        return "simulated" if frame.model == "simulated" else name_of(frame.model)

    def weights(self, frame: Frame) -> dict[str, str]:
        return {} if frame.model == "simulated" else {name_of(frame.model): identity(frame.model)}

    def searching(self, frame: Frame) -> dict[str, object]:
        """The options. A folder's replies are short, so that those that cannot be read end soon. Raises NotRun."""
        if frame.model == "simulated":
            return dict(self.options)
        if any(name.startswith("sim.") for name in self.options):
            raise NotRun("it changes a skill of the simulated model")
        return {"max_tokens": 128, **self.options}

    def described(self, frame: Frame) -> object:
        model = "simulated" if frame.model == "simulated" else identity(frame.model)
        settings = {name: value for name, value in self.settings.items() if not callable(value)}
        figure = self.more.__name__ if self.more else ""
        return [self.task, self.method, self.searching(frame), settings, figure, model]

    def rows(self, frame: Frame, seed: int, questions: int) -> list[Row]:
        world = frame.world(seed, questions)
        frame.out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=frame.out, prefix="run-") as folder:
            run = self.run(Path(folder) / "run", world, named(frame.model), seed, self.searching(frame))
            rows: list[Row] = list(figures(run, world["questions"]))
            if self.more:
                rows = [{**row, **found} for row, found in zip(rows, self.more(run, world["questions"]), strict=True)]
        return rows

    def run(self, out: Path, world: Mapping[str, Path], model: str, seed: int, options: Mapping[str, object]) -> Path:
        """Raises NotRun where questions stay open."""
        grow = esp.expand if self.task == "expand" else esp.answer
        given: dict[str, Any] = {**self.settings, **world, "set": dict(options)}
        done = grow(method=self.method, out=out, model=model, seed=seed, journal=False, **given)
        if done.summary["open"]:
            raise NotRun(f"{done.summary['open']} questions of {self.method} stayed open")
        return out
