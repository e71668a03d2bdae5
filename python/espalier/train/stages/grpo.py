"""Group relative policy optimisation: the model learns from groups of trajectories that it samples itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...export.records import Asked
from ...export.traces.advantages import ADVANTAGES
from ...local.gguf import content_hash
from ..data import Data, Input, Row
from ..job import Setup, Stage
from ..options import option
from ..sampling import Sampled, questions_of
from ..source import Source, source_of


@dataclass(frozen=True, kw_only=True)
class GrpoOptions(Sampled):
    """The options of `train grpo`."""

    advantage: str = option(
        "outcome",
        "The advantage of a token: of the trajectory's outcome in its group, within and between trees (Tree-GRPO), or "
        "of the outcome and of its step's process reward (ProRAG).",
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
        self._need("group", self.group >= 2, "2 or more")
        for name in ("group_questions", "steps"):
            self._need(name, getattr(self, name) >= 1, "1 or more")
        for name in ("beta", "kl"):
            self._need(name, 0 <= getattr(self, name) < float("inf"), "0 or more")
        self._need("lora", self.lora == 0, "0: all weights are trained")
        for name in ("beta", "normalise"):
            if name in self.chosen:
                raise ValueError(f"option 'set': {name}={self.chosen[name]} is not allowed here, must be --{name}")
        if self.advantage == "process":
            self._need("method", self.method == "prorag", "prorag, whose steps have process rewards")
            self._need("prm", bool(self.prm), "the server of a process reward model")


def rate(source: Source, options: GrpoOptions) -> float:
    """1e-6."""
    return 1e-6


def read(options: GrpoOptions) -> Data[Asked]:
    """The questions, and the corpus by its content."""
    if source_of(options.model).kind != "folder":
        raise ValueError(
            f"option 'model': {options.model} is not allowed, must be a folder of transformers; "
            f"`espalier train sft --model {options.model} --data RUN --out FOLDER` makes one"
        )
    records = [one for _, one in questions_of(options.questions)]
    if len(records) < options.group_questions:
        raise InputError(
            f"{options.questions}: has {len(records)} questions, option 'group_questions' is {options.group_questions}"
        )
    corpus = Path(options.corpus)
    if not corpus.is_file():
        raise InputError(f"{corpus}: there is no such file")
    files = (Input(Path(options.questions), len(records), content_hash(Path(options.questions))),)
    return Data((*files, Input(corpus, 0, content_hash(corpus))), tuple(Row(one, 0) for one in records))


def text_of(question: Asked) -> str:
    return question.question


def trainer(setup: Setup[GrpoOptions, Asked]) -> Any:
    from ..policy_gradient import TokenAdvantages

    return TokenAdvantages.of(setup)


GRPO = Stage("grpo", "questions", Asked, text_of, rate, trainer, read=read, parallel=False)
