"""Arms that train: a model learns from rows of a simulated teacher's trees, then answers unseen questions.

Micro models know DecEx-RAG's compact prompts alone, so all rows and questions have these. Sizes let each cell take a
few minutes on one core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .frame import ROOT, TEACHING, Frame, identity, key
from .search import Search
from .verdict import Row

COMPACT = str(ROOT / "examples/compact_prompts")
TEACHER: dict[str, object] = {"sim.recall": 0.25, "sim.phrase": 1, "sim.read": 1}
TREES = Search(
    "decex",
    {"documents": 2, "n": 2, "search": "no_pruning", "chain": "most", "stop_pairs": True} | TEACHER,
    "expand",
    {"prompts": COMPACT},
)
"""What the teacher grows. Without pruning a question has several right chains to choose from."""
TAUGHT = {"sft": 300, "dpo": 60}
"""Questions of the teacher's world for a stage. Each gives several pairs, and a pair costs before the first step."""
ASKED = Search(
    "decex",
    {"documents": 2, "max_tokens": 96, "sampling.rollout.temperature": 0},
    settings={"prompts": COMPACT, "constrain": "off"},
)
"""How a trained model is asked."""


@dataclass(frozen=True)
class Stage:
    """A training on the rows of trees."""

    name: str
    trees: Search = TREES
    options: Mapping[str, Any] | None = None

    @property
    def given(self) -> dict[str, Any]:
        return {**OPTIONS[self.name], **(self.options or {})}


OPTIONS: dict[str, dict[str, Any]] = {
    "sft": {"lr": 3e-4, "batch_tokens": 2048, "max_steps": 30},
    "dpo": {"lr": 3e-5, "batch_tokens": 2048, "max_steps": 30, "sft_weight": 0.5, "min_margin": 0.5},
}


def chain(choice: str) -> Search:
    """Trees whose rows follow the right chain with the most or least retrievals, or a random one."""
    return replace(TREES, options={**TREES.options, "chain": choice})


@dataclass(frozen=True)
class Trained:
    """The base model after some stages."""

    stages: tuple[Stage, ...] = ()

    def model(self, frame: Frame) -> str:
        return f"trained from {frame.base.name}"

    def described(self, frame: Frame) -> object:
        stages = [[one.name, dict(one.trees.options), one.given, TAUGHT[one.name]] for one in self.stages]
        return ["trained", identity(frame.base), stages, dict(ASKED.options)]

    def folder(self, frame: Frame, seed: int) -> Path:
        """The model's folder. Trainings are finished, or recognised."""
        if not self.stages:
            return frame.base
        from espalier import train

        last = self.stages[-1]
        trees = last.trees.run(
            frame.out / "taught" / f"{seed}-{key(dict(last.trees.options), TAUGHT[last.name])}",
            frame.world(TEACHING + seed, TAUGHT[last.name]), "simulated", seed, last.trees.options,
        )  # fmt: skip
        start = Trained(self.stages[:-1]).folder(frame, seed)
        out = frame.out / "models" / f"{seed}-{key(self.described(frame))}"
        getattr(train, last.name)(data=str(trees), model=str(start), out=str(out), seed=seed, **last.given)
        return out

    def rows(self, frame: Frame, seed: int, questions: int) -> list[Row]:
        model = self.folder(frame, seed)
        return ASKED.rows(replace(frame, model=str(model)), seed, questions)
