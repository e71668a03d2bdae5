"""Supervised fine-tuning: learns what the model says, never what documents say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ...export.records import Dialogue
from ...export.tokenizer import Tokenizer, tokenised
from ..batches import Batch, amount, collate, weighted_nll
from ..examples import Dropped, Example
from ..options import SftOptions
from ..stage import Setup, Stage
from ..trainer import OwnLoss


def text_of(dialogue: Dialogue) -> str:
    return "".join(message.content for message in dialogue.messages)


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


class SftTrainer(OwnLoss):
    """The weighted loss of words, over the tokens in the loss or over their weights (`divisor`)."""

    def collate(self, examples: Sequence[Example]) -> Batch:
        return collate(examples, self._pad)

    def loss_of(self, model: Any, batch: Batch) -> torch.Tensor:
        return weighted_nll(model, batch["input_ids"], batch["weights"])

    def amount_of(self, batch: Batch) -> torch.Tensor:
        return amount(batch["weights"], self._options.divisor)


def trainer(setup: Setup[SftOptions, Dialogue]) -> SftTrainer:
    found = setup.examples(lambda dialogue: example_of(dialogue, setup.policy.tokenizer, setup.options))
    return SftTrainer(setup, found)


SFT = Stage(text_of, (2e-3, 2e-4, 2e-5), trainer)
