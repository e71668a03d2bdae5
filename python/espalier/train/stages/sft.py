"""Supervised fine-tuning: learns what the model says, never what documents say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...export.records import Dialogue
from ...export.tokens import tokenised
from ..data import Row
from ..examples import Dropped, Example, Examples, examples_of
from ..job import Setup, Stage
from ..options import TrainOptions, option
from ..source import Source

if TYPE_CHECKING:
    from ...export.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class SftOptions(TrainOptions):
    """The options of `train sft`."""

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
        self._need("control_weight", self.control_weight >= 0, "0 or more")
        self._need("context_weight", 0 <= self.context_weight <= 1, "0 to 1")


def text_of(dialogue: Dialogue) -> str:
    return "".join(message.content for message in dialogue.messages)


def rate(source: Source, options: SftOptions) -> float:
    """2e-3 for a new micro model, 2e-4 for adapters, else 2e-5."""
    return 2e-3 if source.kind == "micro" else 2e-4 if options.lora else 2e-5


def example_of(dialogue: Dialogue, tokenizer: Tokenizer, options: SftOptions) -> Example:
    """A row of T tokens with their weights [T]. Raises Dropped where nothing is in the loss."""
    if options.control_weight:
        spans = tuple((begin, end, options.control_weight) for begin, end, w in dialogue.weights if w != 1)
        dialogue = replace(dialogue, weights=spans)
    tokens = tokenised(dialogue, tokenizer, "conversational")
    if not dialogue.policy_loss:
        raise Dropped("the row is for values alone")
    if not tokenizer.knows(tokens.ids):
        raise Dropped("the model's tokenizer lacks characters of it")
    if not any(tokens.weights) or not dialogue.weight:
        raise Dropped("nothing in it has a weight")
    weights = [dialogue.weight * (w if w > 0 else options.context_weight) for w in tokens.weights]
    return Example(dialogue.origin.id, tokens.ids, weights)


def examples(setup: Setup[SftOptions, Dialogue]) -> Examples[Example]:
    options, policy = setup.options, setup.policy
    longest = min(options.max_length or policy.context, policy.context)

    def make(dialogue: Dialogue) -> Example:
        return example_of(dialogue, policy.tokenizer, options)

    rows: tuple[Row[Dialogue], ...] = setup.data.rows
    return examples_of(rows, make, longest=longest, share=options.eval_share, seed=options.seed)


def trainer(setup: Setup[SftOptions, Dialogue]) -> Any:
    from ..trainer import WeightedTrainer

    return WeightedTrainer.of(setup, examples(setup), divisor=setup.options.divisor)


SFT = Stage("sft", "sft", Dialogue, text_of, rate, trainer)
