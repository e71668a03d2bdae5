"""A value model: two heads beside the policy's own loss (DecoupleRAG)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...export.records import Dialogue
from ...export.tokenizer import Tokenizer
from ..adapters import merged
from ..batches import Batch, collate
from ..examples import Dropped, Example
from ..options import ValueOptions
from ..policy import Policy
from ..stage import Setup, Stage
from ..trainer import OwnLoss, write_model
from ..value_heads import NAMES, ValueHeads, hidden_states
from ..value_text import token_at, value_text


@dataclass(frozen=True)
class ValueExample(Example):
    """One path, with the words of the policy."""

    values: dict[str, list[tuple[int, float]]]
    """By head: the token at which a value is read, and what it should be."""

    @property
    def learned(self) -> int:
        return super().learned + sum(map(len, self.values.values()))


def text_of(dialogue: Dialogue) -> str:
    return value_text(dialogue).text


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


def collate_values(examples: Sequence[ValueExample], pad: int) -> Batch:
    """`input_ids` and `weights` [B, T]: B rows of T tokens. Each head's places [N, 2] (row, token) and values [N]."""
    batch = collate(examples, pad)
    for name in NAMES:
        found = [(row, at, value) for row, one in enumerate(examples) for at, value in one.values[name]]
        batch[f"{name}_places"] = torch.tensor([place[:2] for place in found], dtype=torch.long).view(-1, 2)
        batch[f"{name}_values"] = torch.tensor([place[2] for place in found])
    return batch


def value_losses(model: Any, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The negative log-likelihoods of the policy's words [W], and by head the squared errors [N]."""
    hidden = hidden_states(model, batch["input_ids"])
    weights = batch["weights"][:, 1:] > 0
    logits = model.get_output_embeddings()(hidden[:, :-1][weights]).float()
    words = torch.nn.functional.cross_entropy(logits, batch["input_ids"][:, 1:][weights], reduction="none")
    errors = {}
    for name in NAMES:
        rows, tokens = batch[f"{name}_places"].unbind(1)
        errors[name] = (model.value_heads.value(name, hidden[rows, tokens]) - batch[f"{name}_values"]) ** 2
    return words, errors


class ValueTrainer(OwnLoss):
    """Words + alpha (squared errors of plans + squared errors of searches) (DecoupleRAG, Eq. 8).

    The option `reduction` says how each of the three is reduced. `mean` takes the mean over the batch, and a step the
    mean over its batches, as in the published code. `sum` takes the sum over a path, and a step the mean over its
    paths, as in the paper. What has no place in a batch adds nothing.
    """

    def collate(self, examples: Sequence[ValueExample]) -> Batch:
        return collate_values(examples, self._pad)

    def loss_of(self, model: Any, batch: Batch) -> torch.Tensor:
        model = self.accelerator.unwrap_model(model)
        words, errors = value_losses(model, batch)
        plans, searches = (self._reduced(errors[name]) for name in NAMES)
        return self._reduced(words) + self._options.alpha * (plans + searches)

    def _reduced(self, losses: torch.Tensor) -> torch.Tensor:
        return losses.sum() if self._sums else losses.sum() / max(len(losses), 1)

    @property
    def _sums(self) -> bool:
        return bool(self._options.reduction == "sum")

    def amount_of(self, batch: Batch) -> torch.Tensor:
        ids = batch["input_ids"]
        return torch.tensor(float(len(ids)) if self._sums else 1.0, device=ids.device)

    def said_of(self, model: Any, batch: Batch) -> dict[str, tuple[list[float], list[float]]]:
        return {
            name: (found.tolist(), batch[f"{name}_values"].tolist())
            for name, found in value_losses(model, batch)[1].items()
        }

    def note(self, said: Sequence[Any]) -> None:
        """The mean squared errors of the held-out values, beside those of the best constant, their mean."""
        noted = {}
        for name in NAMES:
            errors, wanted = ([one for batch in said for one in batch[name][i]] for i in (0, 1))
            if wanted:
                mean = sum(wanted) / len(wanted)
                constant = sum((value - mean) ** 2 for value in wanted) / len(wanted)
                noted[name] = {"values": len(wanted), "error": sum(errors) / len(errors), "constant": constant}
        self._notes["values"] = noted

    def write(self, setup: Setup[Any, Any], folder: Path) -> None:
        """The policy, its tokenizer, and the heads in a file of their own."""
        trained = merged(self.accelerator.unwrap_model(self.model))
        trained.value_heads.save(folder)
        del trained.value_heads  # what is left is the policy alone
        write_model(trained, setup, folder)


def trainer(setup: Setup[ValueOptions, Dialogue]) -> ValueTrainer:
    return ValueTrainer(setup, setup.examples(lambda dialogue: example_of(dialogue, setup.policy.tokenizer)))


def with_heads(policy: Policy) -> Any:
    """The model with new heads, which are trained with it."""
    policy.model.value_heads = ValueHeads(policy.model.config.hidden_size)
    return policy.model


VALUE = Stage(text_of, (2e-3, 5e-5, 5e-6), trainer, with_heads)
