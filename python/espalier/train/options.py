"""The options of training, as Python's keywords and as the command's options."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar

from ..errors import did_you_mean

Options = TypeVar("Options", bound="TrainOptions")

FILES = ("data", "questions", "corpus")
"""Options that name files, which are compared by their content."""
EXECUTION = (*FILES, "out", "device", "threads", "batch", "save_every", "log_every", "overwrite")
"""Options that do not change what is learned by themselves."""


def option(default: Any, help: str, value: str = "", choices: Sequence[str] = ()) -> Any:
    """A field with what the command's help says of it. `value` stands for its value there."""
    return field(default=default, metadata={"help": help, "value": value, "choices": tuple(choices)})


class Checked:
    """Options that are checked when they are made."""

    def _need(self, name: str, good: bool, allowed: str) -> None:
        if not good:
            raise ValueError(f"option '{name}': {getattr(self, name)} is not allowed, must be {allowed}")


@dataclass(frozen=True, kw_only=True)
class TrainOptions(Checked):
    """What all stages share. Raises ValueError that names the option, its value and what is allowed."""

    data: Sequence[str | os.PathLike[str]]
    model: str
    out: str | os.PathLike[str]
    seed: int = option(1, "The seed of new weights, of the order of rows, and of dropout.", "S")
    epochs: float = option(1.0, "How often every row is seen.", "X")
    max_steps: int = option(0, "The number of steps, in place of epochs. 0 goes by epochs.", "N")
    lr: float = option(0.0, "The highest learning rate. 0 takes the stage's own for this kind of model.", "X")
    warmup: float = option(0.03, "The share of the steps in which the learning rate rises.", "X")
    decay: float = option(0.5, "The share of the steps, at the end, in which the learning rate falls to 0.", "X")
    weight_decay: float = option(0.0, "The weight decay of AdamW.", "X")
    batch_tokens: int = option(8192, "The most tokens in one batch, with padding.", "N")
    accumulate: int = option(1, "The number of batches whose gradients make one step.", "N")
    max_length: int = option(0, "Longer rows are left out, in tokens. 0 takes the model's context.", "N")
    lora: int = option(0, "The rank of LoRA adapters, which are merged at the end. 0 trains all weights.", "RANK")
    eval_share: float = option(0.0, "The share of the questions whose rows are held out. Their loss is reported.", "X")
    template: str = option("", "A file with the chat template for a model that has none.", "FILE")
    gguf: str = option("", "Also write model.gguf with weights of this type.", "TYPE", ("f16", "q8_0"))
    device: str = option("", "The device: cpu, cuda or cuda:N. The default is cuda where there is one.", "NAME")
    threads: int = option(0, "The threads of a processor. 0 takes all cores. Fewer are faster beside other work.", "N")
    save_every: int = option(200, "A checkpoint is written after each N steps. 0 writes none.", "N")
    log_every: int = option(10, "A line of metrics.jsonl is written after each N steps.", "N")
    overwrite: bool = option(False, "Train anew where OUT holds another training.")

    def __post_init__(self) -> None:
        data = [self.data] if isinstance(self.data, (str, os.PathLike)) else list(self.data)
        object.__setattr__(self, "data", tuple(os.fspath(one) for one in data))
        object.__setattr__(self, "out", os.fspath(self.out))
        self._need("data", bool(self.data), "at least one folder")
        for name in ("seed", "max_steps", "max_length", "lora", "threads", "save_every"):
            self._need(name, getattr(self, name) >= 0, "0 or more")
        for name in ("batch_tokens", "accumulate", "log_every"):
            self._need(name, getattr(self, name) >= 1, "1 or more")
        self._need("epochs", 0 < self.epochs < math.inf, "above 0")
        self._need("lr", 0 <= self.lr < math.inf, "0 or more")
        self._need("weight_decay", 0 <= self.weight_decay < math.inf, "0 or more")
        self._need("warmup", 0 <= self.warmup < 1, "0 or more and below 1")
        self._need("decay", 0 <= self.decay <= 1, "0 to 1")
        self._need("decay", self.warmup + self.decay <= 1, "at most 1 - warmup")
        self._need("eval_share", 0 <= self.eval_share < 1, "0 or more and below 1")
        for one in fields(self):
            if allowed := one.metadata.get("choices"):
                value = getattr(self, one.name)
                self._need(one.name, value in allowed or value == one.default, ", ".join(allowed))

    @property
    def plan(self) -> dict[str, Any]:
        """The options that decide what is learned."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in EXECUTION}


def options_of(kind: type[Options], given: Mapping[str, Any]) -> Options:
    """The options that keywords give. Raises ValueError for unknown and missing ones."""
    known = {one.name: one for one in fields(kind)}
    for name in given:
        if name not in known:
            raise ValueError(f"unknown option '{name}'{did_you_mean(name, known)}")
    for name, one in known.items():
        if required(one) and name not in given:
            raise ValueError(f"option '{name}' is missing")
    return kind(**given)


def required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def described(kind: type[TrainOptions]) -> Iterable[Field[Any]]:
    """The fields that have a help text, in order."""
    return (one for one in fields(kind) if "help" in one.metadata)
