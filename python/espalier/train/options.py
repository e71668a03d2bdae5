"""The options of training, as Python's keywords and as the command's options."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from .. import gone
from ..export.records import Asked, Dialogue, Pair, Steps
from ..export.traces.advantages import ADVANTAGES
from ..export.traces.text import FORMS

Options = TypeVar("Options", bound="TrainOptions")

FILES = ("data", "questions", "corpus")
"""Options that name files, which are compared by their content."""
EXECUTION = (*FILES, "out", "device", "threads", "batch", "save_every", "log_every", "overwrite")
"""Options that do not change what is learned by themselves."""


def option(default: Any, help: str, value: str = "", choices: Sequence[str] = ()) -> Any:
    """A field with what the command's help says of it. `value` stands for its value there."""
    return field(default=default, metadata={"help": help, "value": value, "choices": tuple(choices)})


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What all stages share. Raises ValueError that names the option, its value and what is allowed."""

    stage: ClassVar[str]
    summary: ClassVar[str]
    """What the stage does."""
    record: ClassVar[type[Any] | tuple[type[Any], ...]]
    """What a row of the stage's file is."""
    data: Sequence[str | os.PathLike[str]]
    model: str
    out: str | os.PathLike[str]
    seed: int = option(1, "The seed of new weights, of the order of rows, and of dropout.", "S")
    epochs: float = option(1.0, "How often every row is seen.", "X")
    max_steps: int = option(0, "The number of steps, in place of epochs. 0 goes by epochs.", "N")
    lr: float = option(0.0, "The highest learning rate. 0 takes the stage's own for this kind of model.", "X")
    warmup: float = option(0.03, "The share of the steps in which the learning rate rises.", "X")
    decay: float = option(0.5, "The share of the steps, at the end, in which the learning rate falls to 0.", "X")
    batch_tokens: int = option(8192, "The most tokens in one batch, with padding.", "N")
    accumulate: int = option(1, "The number of batches whose gradients make one step.", "N")
    max_length: int = option(0, "Longer rows are left out, in tokens. 0 takes the model's context.", "N")
    lora: int = option(0, "The rank of LoRA adapters, which are merged at the end. 0 trains all weights.", "RANK")
    eval_share: float = option(0.0, "The share of the questions whose rows are held out. Their loss is reported.", "X")
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
        self._at_least(0, "seed", "max_steps", "lr", "max_length", "lora", "threads", "save_every")
        self._at_least(1, "batch_tokens", "accumulate", "log_every")
        self._need("epochs", 0 < self.epochs < math.inf, "above 0")
        self._need("warmup", 0 <= self.warmup < 1, "0 or more and below 1")
        self._need("decay", 0 <= self.decay <= 1, "0 to 1")
        self._need("decay", self.warmup + self.decay <= 1, "at most 1 - warmup")
        self._need("eval_share", 0 <= self.eval_share < 1, "0 or more and below 1")
        for one in fields(self):
            if allowed := one.metadata.get("choices"):
                value = getattr(self, one.name)
                self._need(one.name, value in allowed or value == one.default, ", ".join(allowed))

    def _need(self, name: str, good: bool, allowed: str) -> None:
        if not good:
            raise ValueError(f"option '{name}': {getattr(self, name)} is not allowed, must be {allowed}")

    def _at_least(self, least: int, *names: str) -> None:
        for name in names:
            self._need(name, least <= getattr(self, name) < math.inf, f"{least} or more")

    @property
    def plan(self) -> dict[str, Any]:
        """The options that decide what is learned."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in EXECUTION}


@dataclass(frozen=True, kw_only=True)
class SftOptions(TrainOptions):
    """The options of `train sft`."""

    stage: ClassVar[str] = "sft"
    summary: ClassVar[str] = "Fine-tune a model on sft.jsonl: what the model says is learned, documents are not."
    record: ClassVar[Any] = Dialogue
    control_weight: float = option(
        0.0,
        "The weight in the loss of every token that the rows weigh otherwise than 1, such as ProRAG's control tokens. "
        "0 takes the weights of the rows.",
        "LAMBDA",
    )
    divisor: str = option(
        "tokens",
        "What the sum of the weighted losses is divided by: the number of tokens in the loss, or the sum of their "
        "weights, as in ProRAG's code.",
        "NAME",
        ("tokens", "weights"),
    )
    context_weight: float = option(
        0.0,
        "The weight of the tokens of prompts and documents. 0 keeps them out of the loss. New models learn to copy "
        "sooner with 0.2.",
        "X",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(0, "control_weight")
        self._need("context_weight", 0 <= self.context_weight <= 1, "0 to 1")


@dataclass(frozen=True, kw_only=True)
class DpoOptions(TrainOptions):
    """The options of `train dpo`."""

    stage: ClassVar[str] = "dpo"
    summary: ClassVar[str] = "Train a model on the preference pairs of dpo.jsonl, step by step."
    record: ClassVar[Any] = Pair
    beta: float = option(0.1, "How strongly the model is held to the one that it begins as.", "X")
    kinds: str = option(
        "both", "The pairs that are learned: decision, execution, or both.", "KIND", ("both", "decision", "execution")
    )
    decision: str = option(
        "both",
        "The decision that the pairs are about: termination (answer or go on), retrieval (search or answer from "
        "memory), or both. Many more pairs say go on than stop, so a small model may search on where it should answer.",
        "NAME",
        ("both", "termination", "retrieval"),
    )
    sft_weight: float = option(0.0, "The weight of the chosen steps' own loss, which anchors the model to them.", "X")
    min_margin: float = option(0.0, "Pairs whose rewards differ by less are left out.", "X")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._need("beta", self.beta > 0, "above 0")
        self._at_least(0, "sft_weight", "min_margin")


@dataclass(frozen=True, kw_only=True)
class ValueOptions(TrainOptions):
    """The options of `train value`."""

    stage: ClassVar[str] = "value"
    summary: ClassVar[str] = "Train a value model on value.jsonl: two heads, for plans and searches (DecoupleRAG)."
    record: ClassVar[Any] = Dialogue
    alpha: float = option(
        0.1, "The weight of the two squared errors beside the loss of the policy's words, as in the paper.", "X"
    )
    reduction: str = option(
        "mean",
        "How words and squared errors make a loss: their means over a batch, as in the published code, or their sums "
        "over a path, as in the paper.",
        "NAME",
        ("mean", "sum"),
    )
    eval_share: float = option(
        0.1, "The share of the questions whose rows are held out. The errors on them are reported.", "X"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._need("alpha", 0 < self.alpha < math.inf, "above 0")


@dataclass(frozen=True, kw_only=True)
class PrmOptions(TrainOptions):
    """The options of `train prm`."""

    stage: ClassVar[str] = "prm"
    summary: ClassVar[str] = "Train a process reward model on the pairs of steps of prm.jsonl (ProRAG)."
    record: ClassVar[Any] = (Pair, Steps)
    labels: str = option(
        "pairs",
        "What is learned: which of two steps is better (pairs), or the share of good completions through a state "
        "(share).",
        "NAME",
        ("pairs", "share"),
    )
    eval_share: float = option(
        0.1, "The share of the questions whose pairs are held out. The accuracy on them is reported.", "X"
    )


@dataclass(frozen=True, kw_only=True)
class Sampled(TrainOptions):
    """Options of a stage that samples trajectories with the model."""

    data: Sequence[Any] = ()  # the rows are sampled
    questions: str = option("", "JSON lines with id, question and golden_answers. They are sampled.", "FILE")
    corpus: str = option("", "JSON lines with id, title and contents. They are searched.", "FILE")
    method: str = option("decex", "The method whose policy is sampled.", "NAME", tuple(FORMS))
    prompts: str = option("", "A folder of prompts, in place of the built-in ones.", "DIR")
    set: Sequence[str] = option((), "A search option as NAME=VALUE. It may be repeated.", "NAME=VALUE")
    constrain: str = option("off", "Whether a grammar constrains the samples. It is best without.", "WHEN")
    prm: str = option("", "The server of a process reward model, as URL or URL,NAME.", "URL")
    batch: int = option(64, "The samples that are written at once.", "N")

    def __post_init__(self) -> None:
        for name in ("questions", "corpus"):
            if not getattr(self, name):
                raise ValueError(f"option '{name}' is missing")
        object.__setattr__(self, "data", (self.questions, self.corpus))
        chosen = self.set.items() if isinstance(self.set, Mapping) else [one.partition("=")[::2] for one in self.set]
        object.__setattr__(self, "set", tuple(f"{name}={value}" for name, value in chosen))
        super().__post_init__()
        self._at_least(1, "batch")

    def _need_rewards(self, why: str) -> None:
        self._need("method", self.method == "prorag", f"prorag, whose steps have process rewards{why}")
        self._need("prm", bool(self.prm), f"the server of a process reward model{why}")

    @property
    def plan(self) -> dict[str, Any]:
        """A reward model is known by its name, wherever it is served."""
        return {**super().plan, "prm": self.prm.partition(",")[2]}

    @property
    def chosen(self) -> dict[str, str]:
        """The search options by name."""
        return {name: value for name, _, value in (one.partition("=") for one in self.set)}


@dataclass(frozen=True, kw_only=True)
class RftOptions(Sampled, SftOptions):
    """The options of `train rft`. Those of training are sft's."""

    stage: ClassVar[str] = "rft"
    summary: ClassVar[str] = "Sample trajectories, keep what is right, and fine-tune the model on it."
    samples: int = option(8, "The trajectories that are sampled for each question.", "N")
    filter: str = option(
        "rule",
        "What is kept: the trajectories that keep a rule (right, readable, at most 4 retrievals), or the steps of "
        "right trajectories with a high process reward (ProRAG).",
        "NAME",
        ("rule", "prm"),
    )
    rft_threshold: float = option(0.0, "prm: the process reward that a step must exceed.", "X")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(1, "samples")
        if self.filter == "prm":
            self._need_rewards(" (filter prm)")

    def sft(self, rows: os.PathLike[str], out: os.PathLike[str]) -> SftOptions:
        """The options of the training on a folder of rows."""
        own = {one.name: getattr(self, one.name) for one in fields(SftOptions)}
        return SftOptions(**{**own, "data": (rows,), "out": out})


@dataclass(frozen=True, kw_only=True)
class GrpoOptions(Sampled):
    """The options of `train grpo`."""

    stage: ClassVar[str] = "grpo"
    summary: ClassVar[str] = "Train a model on groups of trajectories that it samples itself (GRPO, Tree-GRPO, ProRAG)."
    record: ClassVar[Any] = Asked
    advantage: str = option(
        "outcome",
        "The advantage of a token: of the trajectory's outcome in its group, within and between trees (Tree-GRPO, or "
        "as its code has it), or of the outcome and of its step's process reward (ProRAG).",
        "NAME",
        tuple(ADVANTAGES),
    )
    group: int = option(8, "The trajectories of a question.", "G")
    group_questions: int = option(4, "The questions of a step.", "N")
    beta: float = option(0.3, "process: the weight of the steps' advantages.", "X")
    normalise: str = option(
        "step",
        "process: whether the steps' rewards are normalised over a group's steps or over their tokens, as in ProRAG's "
        "code.",
        "NAME",
        ("step", "token"),
    )
    divisor: str = option(
        "trajectories",
        "What the sum of losses is divided by: the trajectories (ProRAG, Eq. 9), or their tokens (its code).",
        "NAME",
        ("trajectories", "tokens"),
    )
    clip: float = option(0.2, "The ratio of a token's probabilities counts from 1 - X to 1 + X (Eq. 9).", "X")
    updates: int = option(1, "The steps that learn from the same samples. In the first one every ratio is 1.", "N")
    kl: float = option(0.01, "The weight of the divergence from the model that it begins as. 0 computes none.", "X")
    reward: str = option("em", "The outcome: exact match, or the F1 of words.", "NAME", ("em", "f1"))
    steps: int = option(100, "The number of steps.", "N")
    save_every: int = option(10, "A checkpoint is written after each N steps. 0 writes none.", "N")
    log_every: int = option(1, "A line of metrics.jsonl is written after each N steps.", "N")
    # What other stages choose has no meaning here.
    epochs: float = 1.0
    max_steps: int = 0
    batch_tokens: int = 8192
    accumulate: int = 1
    eval_share: float = 0.0
    lora: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_steps", self.steps)
        super().__post_init__()
        self._at_least(2, "group")
        self._at_least(1, "group_questions", "steps", "updates")
        self._need("clip", 0 < self.clip < 1, "above 0 and below 1")
        self._need("save_every", self.save_every % self.updates == 0, "a multiple of updates")
        self._at_least(0, "beta", "kl")
        self._need("lora", self.lora == 0, "0: all weights are trained")
        for name in ("beta", "normalise"):
            if name in self.chosen:
                raise ValueError(f"option 'set': {name}={self.chosen[name]} is not allowed here, must be --{name}")
        if self.advantage == "process":
            self._need_rewards("")


STAGES: dict[str, type[TrainOptions]] = {
    one.stage: one for one in (SftOptions, DpoOptions, ValueOptions, PrmOptions, RftOptions, GrpoOptions)
}


def options_of(kind: type[Options], given: Mapping[str, Any]) -> Options:
    """The options that keywords give. Raises ValueError for unknown and missing ones."""
    known = {one.name: one for one in fields(kind)}
    for name in given:
        if name not in known:
            raise ValueError(gone.unknown(name, known, where=f"espalier train {kind.stage}"))
    for name, one in known.items():
        if one.default is MISSING and name not in given:
            raise ValueError(f"option '{name}' is missing")
    return kind(**given)


def described(kind: type[TrainOptions]) -> Iterable[Field[Any]]:
    """The fields that have a help text, in order."""
    return (one for one in fields(kind) if "help" in one.metadata)
