"""The loss of a value model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .batches import Batch, collate
from .examples import Examples
from .stages.value import ValueExample
from .trainer import WeightedTrainer
from .value_heads import NAMES, hidden_states


def collate_values(examples: Sequence[ValueExample], pad: int) -> Batch:
    """B rows of T tokens. Beside `input_ids` and `weights` [B, T]: for each head its N places [N, 2] (row, token) and
    values [N]."""
    batch = collate(examples, pad)  # type: ignore[arg-type]
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


class ValueTrainer(WeightedTrainer):
    """Words + alpha (squared errors of plans + squared errors of searches) (DecoupleRAG, Eq. 8).

    The option `reduction` says how each of the three is reduced. `mean` takes the mean over the batch, and a step the
    mean over its batches, as in the published code. `sum` takes the sum over a path, and a step the mean over its
    paths, as in the paper. What has no place in a batch adds nothing.
    """

    @classmethod
    def with_heads(cls, setup: Any, examples: Examples[Any]) -> Any:
        made = cls.of(setup, examples, divisor="tokens")
        made.data_collator = lambda rows: collate_values(rows, made._pad)
        made._notes = setup.notes
        return made

    def loss_of(self, model: Any, batch: Batch) -> torch.Tensor:
        model = self.accelerator.unwrap_model(model)
        words, errors = value_losses(model, batch)
        plans, searches = (self._reduced(errors[name]) for name in NAMES)
        return self._reduced(words) + self._options.alpha * (plans + searches)  # type: ignore[attr-defined]

    def _reduced(self, losses: torch.Tensor) -> torch.Tensor:
        return losses.sum() if self._sums else losses.sum() / max(len(losses), 1)

    @property
    def _sums(self) -> bool:
        return bool(self._options.reduction == "sum")  # type: ignore[attr-defined]

    def amount_of(self, batch: Batch) -> torch.Tensor:
        ids = batch["input_ids"]
        return torch.tensor(float(len(ids)) if self._sums else 1.0, device=ids.device)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Also notes the mean squared errors of the held-out values, beside those of the best constant, which is the
        mean of these values."""
        metrics = super().evaluate(*args, **kwargs)
        if not self.eval_dataset:
            return metrics
        model = self.accelerator.unwrap_model(self.model).eval()
        errors: dict[str, list[float]] = {name: [] for name in NAMES}
        wanted: dict[str, list[float]] = {name: [] for name in NAMES}
        with torch.no_grad(), self.compute_loss_context_manager():
            for batch in self._loader(self.eval_dataset):
                batch = self._prepare_inputs(batch)
                for name, found in value_losses(model, batch)[1].items():
                    errors[name] += found.tolist()
                    wanted[name] += batch[f"{name}_values"].tolist()
        noted = {}
        for name in NAMES:
            if wanted[name]:
                mean = sum(wanted[name]) / len(wanted[name])
                constant = sum((value - mean) ** 2 for value in wanted[name]) / len(wanted[name])
                error = sum(errors[name]) / len(errors[name])
                noted[name] = {"values": len(wanted[name]), "error": error, "constant": constant}
        self._notes["values"] = noted
        return metrics
