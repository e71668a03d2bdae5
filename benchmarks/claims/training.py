"""Arms that train: a model learns from a simulated teacher's trees or from its own samples, then answers unseen
questions.

Micro models know compact prompts alone, with question and history, so all rows and questions have these. Sizes let each
cell take a few minutes on one core.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .frame import ROOT, TEACHING, Frame, NotRun, identity, key, name_of
from .search import Search, named
from .verdict import Row

TEACHER: dict[str, object] = {"sim.recall": 0.25, "sim.phrase": 1, "sim.read": 1}
TREES = Search(
    "decex",
    {"documents": 2, "n": 2, "search": "no_pruning", "chain": "most", "stop_pairs": True} | TEACHER,
    "expand",
    {"prompts": str(ROOT / "examples/compact_prompts")},
)
"""What the teacher grows. Without pruning a question has several right chains to choose from."""
OWN = Search(
    "decex",
    {"documents": 2, "max_tokens": 96, "form": "policy", "k": 4, "n": 2, "rollout_rounds": 4, "temperature": 1}
    | {"termination": "mean_f1", "stop_pairs": True},
    "expand",
    {"prompts": str(ROOT / "examples/compact_prompts"), "constrain": "off"},
)
"""What the model that is trained grows itself, for pairs of its own steps."""
STEPS = Search(
    "prorag",
    {"documents": 2, "simulations": 16, "samples": 4} | TEACHER,
    "expand",
    {"prompts": str(ROOT / "benchmarks/claims/prorag_prompts")},
)
"""ProRAG's trees: right paths, and pairs of steps that the simulated judge compared."""
LABELS = Search("decouple", {"documents": 2}, "expand")
"""DecoupleRAG's trees, whose states the simulated judge valued."""
TAUGHT = {"sft": 300, "dpo": 60, "value": 1500, "prm": 300, "rft": 60, "grpo": 120}
"""Questions of the teacher's world for a stage. Each gives several pairs, and a pair costs before the first step."""
OPTIONS: dict[str, dict[str, Any]] = {
    "sft": {"lr": 3e-4, "batch_tokens": 2048, "max_steps": 30},
    "dpo": {"lr": 3e-5, "batch_tokens": 2048, "max_steps": 30, "sft_weight": 0.5, "min_margin": 0.5},
    "value": {"lr": 3e-4, "batch_tokens": 4096, "epochs": 2},
    "prm": {"lr": 3e-4, "batch_tokens": 4096, "max_steps": 100},
    "rft": {"lr": 1e-4, "batch_tokens": 2048, "max_steps": 30, "samples": 4},
    "grpo": {"lr": 1e-4, "steps": 30, "group_questions": 4, "kl": 0.01},
}
SAMPLED = ("rft", "grpo")
"""Stages that learn from what the model samples itself."""


def asked(trees: Search) -> Search:
    """How a model is asked that was trained on these trees."""
    options = {"documents": 2, "max_tokens": 96, "sampling.rollout.temperature": 0}
    return Search(trees.method, options, settings={**trees.settings, "constrain": "off"})


@dataclass(frozen=True)
class Stage:
    """A training on the rows of trees, or on own samples for the questions of these trees."""

    name: str
    trees: Search = TREES
    options: Mapping[str, Any] | None = None
    reward: Trained | None = None
    """Of a stage that samples: the model that rewards its steps."""
    taught: int = 0
    """Questions of the teacher's world, 0 = as TAUGHT says."""

    @property
    def questions(self) -> int:
        return self.taught or TAUGHT[self.name]

    @property
    def given(self) -> dict[str, Any]:
        return {**OPTIONS[self.name], **(self.options or {})}

    def described(self, frame: Frame) -> object:
        reward = self.reward.described(frame) if self.reward else None
        return [self.name, dict(self.trees.options), self.given, self.questions, reward]

    def run(self, frame: Frame, seed: int, start: str, out: Path) -> Path:
        """The folder of the model that `start` becomes."""
        from espalier import train

        questions = self.questions
        world = frame.world(TEACHING + seed, questions)
        given: dict[str, Any] = {"model": start, "out": str(out), "seed": seed, **self.given}
        server = self.reward.served(frame, seed) if self.reward else nullcontext("")
        if self.name in SAMPLED:
            files = {name: str(path) for name, path in world.items()}
            own = {"documents": 2, "max_tokens": 96}
            given |= {"method": self.trees.method, **files, **self.trees.settings, "set": own}
        else:
            grower = start if self.trees is OWN else "simulated"
            trees = frame.out / "taught" / f"{seed}-{key(dict(self.trees.options), questions, Path(grower).name)}"
            self.trees.run(trees, world, named(grower), seed, self.trees.options)
            given["data"] = str(trees)
        with server as url:
            trained = getattr(train, self.name)(**given, **({"prm": f"{url}/classify,prm"} if url else {}))
        return Path(trained.out)


@dataclass(frozen=True)
class Trained:
    """The base model after some stages."""

    stages: tuple[Stage, ...] = ()

    def model(self, frame: Frame) -> str:
        return f"trained from {name_of(frame.base)}"

    def weights(self, frame: Frame) -> dict[str, str]:
        return {name_of(frame.base): identity(frame.base)}

    @property
    def asked(self) -> Search:
        return asked(self.stages[-1].trees if self.stages else TREES)

    def described(self, frame: Frame) -> object:
        stages = [one.described(frame) for one in self.stages]
        return ["trained", identity(frame.base), stages, self.asked.method, dict(self.asked.options)]

    def trained(self, frame: Frame, seed: int) -> str:
        """The model as trainings name it. Stages are finished, or recognised."""
        if not self.stages:
            return frame.base
        start = Trained(self.stages[:-1]).trained(frame, seed)
        out = frame.out / "models" / f"{seed}-{key(self.described(frame))}"
        return str(self.stages[-1].run(frame, seed, start, out))

    def rows(self, frame: Frame, seed: int, questions: int) -> list[Row]:
        return self.asked.rows(replace(frame, model=self.trained(frame, seed)), seed, questions)

    @contextmanager
    def served(self, frame: Frame, seed: int) -> Iterator[str]:
        """The address of this value or reward model, while it is served."""
        values = ["serve", "values", "--model", self.trained(frame, seed), "--port", "0", "--json"]
        command = [sys.executable, "-m", "espalier.cli", *values]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                said = server.stdout.readline() if server.stdout else ""
                if not said:
                    raise NotRun("the value or reward model could not be served")
                yield str(json.loads(said)["url"])
            finally:
                server.terminate()


@dataclass(frozen=True)
class Guided:
    """A search of the simulated policy, guided by a trained model."""

    search: Search
    guide: Trained

    def model(self, frame: Frame) -> str:
        return f"{self.search.model(frame)}, guide {self.guide.model(frame)}"

    def weights(self, frame: Frame) -> dict[str, str]:
        return self.search.weights(frame) | self.guide.weights(frame)

    def described(self, frame: Frame) -> object:
        return ["guided", self.search.described(frame), self.guide.described(frame)]

    def rows(self, frame: Frame, seed: int, questions: int) -> list[Row]:
        with self.guide.served(frame, seed) as url:
            if self.guide.stages[-1].name == "value":
                asked: dict[str, Any] = {"values": url}
            else:
                asked = {"models": {"process_reward": (f"{url}/classify", "prm")}}
            return replace(self.search, settings={**self.search.settings, **asked}).rows(frame, seed, questions)


def chain(choice: str) -> Search:
    """Trees whose rows follow the right chain with the most or least retrievals, or a random one."""
    return replace(TREES, options={**TREES.options, "chain": choice})
