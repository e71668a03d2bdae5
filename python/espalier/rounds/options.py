"""The options of an improvement, checked before its first step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from ..local.gguf import content_hash
from ..local.sources import source_of
from ..runs.job import check, text_of
from ..runs.settings_table import SETTINGS
from ..train.options import EXECUTION, Checked
from ..train.source import source_of as weights_of
from ..train.stages.dpo import DpoOptions
from ..train.stages.sft import SftOptions
from .training import training_options

BY_CONTENT = ("corpus", "index", "prompts")
"""Settings that name inputs. Each run compares them by their content."""


@dataclass(frozen=True, kw_only=True)
class ImproveOptions(Checked):
    """What `improve` is told. Raises ValueError that names the option, its value and what is allowed."""

    method: ClassVar[str] = "decex"
    """Its runs have sft.jsonl and dpo.jsonl, and a trained policy can grow its trees. Runs of no other method do."""
    questions: str | os.PathLike[str]
    """With gold answers, in Espalier's own form."""
    model: str
    """The model at the start: `simulated`, a URL, hf:FOLDER or gguf:FILE."""
    out: str | os.PathLike[str]
    model_name: str = ""
    """Its name at the server."""
    rounds: int = 2
    teacher: str = ""
    """MODEL[,NAME]: another model that grows the trees of the first round. '' = the model itself."""
    student: str = ""
    """What the first SFT begins with: a folder, gguf:FILE or micro:SIZE. '' = the model itself."""
    eval_questions: str | os.PathLike[str] = ""
    """The held-out questions, with gold answers. '' = a share of `questions`."""
    eval_share: float = 0.2
    """That share. A hash of a question's id decides."""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Search options of trees and answers."""
    answer_set: Mapping[str, Any] = field(default_factory=dict)
    """Search options of answers alone."""
    sft: Mapping[str, Any] = field(default_factory=dict)
    dpo: Mapping[str, Any] = field(default_factory=dict)
    overwrite: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of every run, such as `corpus`."""

    def __post_init__(self) -> None:
        self._need("rounds", self.rounds >= 1, "1 or more")
        self._need("eval_share", 0 < self.eval_share < 1, "above 0 and below 1")
        for name, kind in (("sft", SftOptions), ("dpo", DpoOptions)):
            object.__setattr__(self, name, training_options(name, kind, getattr(self, name)))
        for task, settings in (("expand", self.search), ("answer", self.answering)):
            for model in (self.start, self.grower):
                check(task, {**settings, **model, "questions": self.questions, "out": self.out})
        weights_of(self.weights)

    @property
    def start(self) -> dict[str, str]:
        """The settings of the model at the start."""
        return {"model": self.model, "model_name": self.model_name}

    @property
    def grower(self) -> dict[str, str]:
        """The settings of the model that grows the first trees."""
        model, _, name = self.teacher.partition(",")
        return {"model": model, "model_name": name} if self.teacher else self.start

    @property
    def weights(self) -> str:
        """What the first SFT begins with. Raises ValueError where the model is no file."""
        if self.student:
            return self.student
        source = source_of(self.model)
        if source is None:
            raise ValueError(f"option 'student' is missing: '{self.model}' has no weights here that could be trained")
        return str(source.path) if source.kind == "hf" else f"gguf:{source.path}"

    @property
    def seed(self) -> int:
        """Of runs, of trainings, and of the choice of held-out questions."""
        return int(self.settings.get("seed") or 1)

    @property
    def search(self) -> dict[str, Any]:
        """The settings of all trees."""
        return {**self.settings, "method": self.method, "set": dict(self.set), "overwrite": self.overwrite}

    @property
    def answering(self) -> dict[str, Any]:
        """The settings of all answers."""
        return {**self.search, "set": {**self.set, **self.answer_set}}

    def trained(self, folder: Path) -> dict[str, str]:
        """The settings of a trained model in this process. It runs as the first one did, where that was hf: too."""
        source = source_of(self.model)
        chosen = source.options if source is not None and source.kind == "hf" else {}
        more = "&".join(f"{name}={value}" for name, value in chosen.items())
        return {"model": f"hf:{folder}" + (f"?{more}" if more else ""), "model_name": ""}

    @property
    def resolved(self) -> dict[str, Any]:
        """What improve.json says: all that decides the results, and how many rounds there are."""

        def named(model: Mapping[str, str]) -> str:
            """Without address, folder and device, which change no result. Each run knows its model by its content."""
            if source := source_of(model["model"]):
                return f"{source.kind}:{source.name}"
            return model["model_name"] or "default" if "://" in model["model"] else model["model"]

        flat = {
            "method": self.method,
            "model": named(self.start),
            "teacher": named(self.grower) if self.teacher else "",
            "student": self.student,
            "questions": content_hash(Path(self.questions)),
            "eval_questions": content_hash(Path(self.eval_questions)) if self.eval_questions else "",
            "eval_share": self.eval_share,
        }
        known = {name for name, setting in SETTINGS.items() if setting.record and name not in BY_CONTENT}
        flat |= {name: text_of(value) for name, value in self.settings.items() if name in known and value is not None}
        for group in ("set", "answer_set"):
            flat |= {f"{group}.{name}": text_of(value) for name, value in getattr(self, group).items()}
        for group in ("sft", "dpo"):
            chosen = getattr(self, group)
            flat |= {f"{group}.{name}": value for name, value in chosen.items() if name not in EXECUTION}
        return {**flat, "rounds": self.rounds}


def improve_options(given: Mapping[str, Any]) -> ImproveOptions:
    """The options that keywords give. Those that are none of `ImproveOptions` are settings of the runs."""
    own = {one.name for one in fields(ImproveOptions)} - {"settings"}
    for name in ("questions", "model", "out"):
        if not given.get(name):
            raise ValueError(f"option '{name}' is missing")
    if "method" in given:
        raise ValueError("there is no option 'method': improve grows trees by DecEx-RAG")
    settings = {name: value for name, value in given.items() if name not in own and value is not None}
    return ImproveOptions(**{name: value for name, value in given.items() if name in own}, settings=settings)
