"""What all claims share: generated worlds, cells that are computed once, and a record of each claim.

A cell is one arm on one seed. Its figures stand in OUT/cells, under a name made of all that decides them, so a second
start computes only what is missing. Each seed has a world of its own.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import espalier as esp
import numpy as np
from espalier import _core
from espalier.errors import Error, InputError
from espalier.train.source import source_of

from .verdict import UNTESTED, Comparison, Row, bounds, overall

ROOT = Path(__file__).resolve().parents[2]
MICRO = f"gguf:{ROOT / 'examples/micro/model.gguf'}"
"""The trained micro model that the trainings begin with, unless another one is given."""
PASSAGES = 2000
TEACHING = 1000
"""Rows for a training on seed s come from the world of seed TEACHING + s, so that no question is in both."""


class NotRun(Error):
    """Why an arm has no figures."""


@dataclass(frozen=True)
class Frame:
    """Where cells stand and which models are asked."""

    out: Path
    model: str = "simulated"
    """Of the claims about searches: simulated, gguf:FILE, or the folder of a model."""
    base: str = MICRO
    """What the claims about training begin with."""
    seeds: int = 0
    """At most so many seeds for a claim, 0 = as many as it wants. `questions` likewise."""
    questions: int = 0
    until: float = math.inf
    """No cell begins after this moment of time.monotonic()."""

    def world(self, seed: int, questions: int) -> dict[str, Path]:
        """The files of a world, as keywords of a run. They are written once."""
        folder = self.out / "worlds" / f"{seed}-{questions}"
        if not (folder / "corpus.jsonl").exists():
            esp.write_world(folder, passages=PASSAGES, questions=questions, seed=seed)
        return {"questions": folder / "questions.jsonl", "corpus": folder / "corpus.jsonl"}

    def cell(self, arm: Arm, seed: int, questions: int) -> list[Row]:
        """The figures of one arm on one seed, a row for each question."""
        file = self.out / "cells" / f"{key(arm.described(self), seed, questions)}.json"
        if file.exists():
            return list(json.loads(file.read_text()))
        if time.monotonic() > self.until:
            raise NotRun("the time was up, and the same command goes on")
        rows = arm.rows(self, seed, questions)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(json.dumps(rows))
        part.replace(file)
        return rows


class Arm(Protocol):
    """One side of a comparison."""

    def described(self, frame: Frame) -> object:
        """All that decides its figures, besides seed and questions, for JSON. Raises NotRun."""

    def rows(self, frame: Frame, seed: int, questions: int) -> list[Row]:
        """Raises NotRun."""

    def model(self, frame: Frame) -> str:
        """What the table calls the model."""

    def weights(self, frame: Frame) -> dict[str, str]:
        """The hashes of the models that it begins with, by what the table calls them. Raises NotRun."""


@dataclass(frozen=True)
class Claim:
    says: str
    source: str
    """Paper, table or figure."""
    arms: Mapping[str, Arm]
    comparisons: Sequence[Comparison] = ()
    figures: Sequence[str] = ("em", "calls")
    """What is shown of each arm."""
    seeds: int = 10
    questions: int = 200
    """For each seed."""
    remark: str = ""
    """What a reader must know of the arms."""
    equal: str = ""
    """Why arms are equal by construction with the simulated model, which then cannot test the claim."""


def key(*parts: object) -> str:
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=12).hexdigest()


def identity(model: str) -> str:
    """The hash of a model's files. Raises NotRun where there are none."""
    try:
        return source_of(model).hash
    except (InputError, ValueError) as error:
        raise NotRun(f"{error}, give a model by BASE or MODEL") from None


def name_of(model: str) -> str:
    """What tables call it: the folder, which also names the one of a file."""
    path = Path(model.removeprefix("gguf:"))
    return path.parent.name if model.startswith("gguf:") else path.name


def shown(values: np.ndarray) -> list[float]:
    """Mean and interval of values [seeds, questions]."""
    return [round(float(number), 6) for number in (values.mean(), *bounds(values))]


def record(name: str, claim: Claim, frame: Frame) -> dict[str, Any]:
    """A claim's row of results.json."""
    head = {"name": name, "claim": claim.says, "source": claim.source, "remark": claim.remark}
    head["model"] = next(iter(claim.arms.values())).model(frame)
    seeds, questions = frame.seeds or claim.seeds, frame.questions or claim.questions
    cells: dict[str, list[Any]] = {arm: [] for arm in claim.arms}
    for seed in range(1, seeds + 1):  # seed by seed, so that those that are whole count if the time is up
        try:
            whole = {arm: frame.cell(one, seed, questions) for arm, one in claim.arms.items()}
        except Error as reason:
            if seed == 1:
                return head | {"verdict": "not run", "reason": str(reason)}
            head["reason"], seeds = f"{seed - 1} of {seeds} seeds were run: {reason}", seed - 1
            break
        for arm, rows in whole.items():
            cells[arm].append(rows)
    weights: dict[str, str] = {}
    for arm_of in claim.arms.values():
        weights |= arm_of.weights(frame)
    by_construction = claim.equal if head["model"] == "simulated" else ""
    compared, verdicts, reasons = [], [], [head.get("reason"), by_construction]
    for one in claim.comparisons:
        of_seeds = [
            [one.value(dict(zip(cells, rows, strict=True))) for rows in zip(*worlds, strict=True)]
            for worlds in zip(*cells.values(), strict=True)
        ]
        values = shown(np.array(of_seeds))
        said = one.verdict((values[1], values[2])) if one.decides else "shown"
        if one.decides and one.untestable(np.array(of_seeds)):
            said = UNTESTED
            reasons.append(f"both arms of '{one.label}' are equal in every question of every seed")
        compared.append({"label": one.label, "values": values, "verdict": said, "percent": one.percent})
        verdicts += [said] if one.decides else []
    measured = {
        arm: {figure: shown(np.array([[row[figure] for row in rows] for rows in worlds])) for figure in claim.figures}
        for arm, worlds in cells.items()
    }
    if given := [one for one in reasons if one]:
        head["reason"] = ". ".join([given[0], *(one[0].upper() + one[1:] for one in given[1:])])
    counts = {"seeds": seeds, "questions": seeds * questions}
    origin = {"version": _core.build_info()["version"], "weights": weights}
    verdict = UNTESTED if by_construction else overall(verdicts)
    return head | counts | origin | {"arms": measured, "comparisons": compared, "verdict": verdict}
