"""A value model: two heads beside the policy's own loss (DecoupleRAG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...export.records import Dialogue
from ..examples import Dropped, Examples, examples_of
from ..job import Setup, Stage
from ..options import TrainOptions, option
from ..source import Source
from ..value_text import token_at, value_text

if TYPE_CHECKING:
    from ...export.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class ValueOptions(TrainOptions):
    """The options of `train value`."""

    alpha: float = option(
        0.1,
        "The weight of the two squared errors beside the loss of the policy's words, as in the paper.",
        "X",
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
        self._need("alpha", 0 < self.alpha < float("inf"), "above 0")


@dataclass(frozen=True)
class ValueExample:
    """One path of T tokens."""

    id: str
    ids: Sequence[int]
    """[T]"""
    weights: Sequence[float]
    """[T], of each token in the policy's loss; 0 = outside."""
    values: dict[str, list[tuple[int, float]]]
    """By head: the token at which a value is read, and what it should be."""

    @property
    def length(self) -> int:
        return len(self.ids)

    @property
    def learned(self) -> int:
        return sum(weight > 0 for weight in self.weights) + sum(map(len, self.values.values()))


def text_of(dialogue: Dialogue) -> str:
    return value_text(dialogue).text


def rate(source: Source, options: ValueOptions) -> float:
    """2e-3 for a new micro model, 5e-5 for adapters, else 5e-6."""
    return 2e-3 if source.kind == "micro" else 5e-5 if options.lora else 5e-6


def example_of(dialogue: Dialogue, tokenizer: Tokenizer) -> ValueExample:
    """A row's tokens. The policy's words are in the loss where the row says so. Raises Dropped."""
    made = value_text(dialogue)
    if not made.plans and not made.searches:
        raise Dropped("it has no values")
    ids, offsets = tokenizer.encode(made.text, special=False)
    spans = made.learned if dialogue.policy_loss else []
    weights = [float(any(begin < b and a < end for a, b in spans)) for begin, end in offsets]
    values = {
        name: [(token_at(offsets, at), value) for at, value in found]
        for name, found in (("plan", made.plans), ("search", made.searches))
    }
    return ValueExample(dialogue.origin.id, ids, weights, values)


def examples(setup: Setup[ValueOptions, Dialogue]) -> Examples[ValueExample]:
    options, policy = setup.options, setup.policy
    longest = min(options.max_length or policy.context, policy.context)

    def make(dialogue: Dialogue) -> ValueExample:
        return example_of(dialogue, policy.tokenizer)

    return examples_of(setup.data.rows, make, longest=longest, share=options.eval_share, seed=options.seed)


def trainer(setup: Setup[ValueOptions, Dialogue]) -> Any:
    from ..values import ValueTrainer

    return ValueTrainer.with_heads(setup, examples(setup))


def model(policy: Any) -> Any:
    from ..value_heads import with_heads

    return with_heads(policy.model)


def save(trainer: Any, setup: Setup[ValueOptions, Dialogue], folder: Any) -> None:
    """The policy, its tokenizer, and the heads in a file of their own."""
    from ..run import whole_model, write_model
    from ..value_heads import take_heads

    trained = whole_model(trainer)
    take_heads(trained).save(folder)
    write_model(trained, setup, folder)


VALUE = Stage("value", "value", Dialogue, text_of, rate, trainer, model, save)
