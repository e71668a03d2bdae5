"""The loss of a reward model that learns shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .batches import Batch
from .examples import Examples
from .reward_text import padded
from .states import State
from .trainer import WeightedTrainer


def collate_states(states: Sequence[State], pad: int) -> Batch:
    """`input_ids` and `attention_mask` [B, T], and `shares` [B]."""
    ids, mask = padded([one.ids for one in states], pad)
    shares = torch.tensor([one.share for one in states])
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask), "shares": shares}


def logits(model: Any, batch: Batch) -> torch.Tensor:
    """[B]: 2 R. A search reads a reward as 1/2 + tanh(R)/2 = sigmoid(2 R), which is the share."""
    read = {name: batch[name] for name in ("input_ids", "attention_mask")}
    found: torch.Tensor = 2 * model(**read, use_cache=False).logits.float().squeeze(-1)
    return found


def share_loss(logits: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """The sum of -s log p - (1 - s) log(1 - p) for shares s and p = sigmoid(logits), a scalar."""
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, shares, reduction="sum")


class ShareTrainer(WeightedTrainer):
    """Learns the share of good completions of states. The loss of a batch is the mean over its states."""

    @classmethod
    def with_shares(cls, setup: Any, examples: Examples[State]) -> Any:
        made = cls.of(setup, examples, divisor="tokens")
        made.data_collator = lambda states: collate_states(states, made._pad)
        made._notes = setup.notes
        return made

    def loss_of(self, model: Any, batch: Batch) -> torch.Tensor:
        return share_loss(logits(model, batch), batch["shares"])

    def amount_of(self, batch: Batch) -> torch.Tensor:
        return torch.tensor(float(len(batch["shares"])), device=batch["shares"].device)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Also notes the mean squared error of the held-out shares, beside that of their mean."""
        metrics = super().evaluate(*args, **kwargs)
        if self.eval_dataset:
            said, wanted = [], []
            with torch.no_grad(), self.compute_loss_context_manager():
                for batch in self._loader(self.eval_dataset):
                    batch = self._prepare_inputs(batch)
                    said.append(torch.sigmoid(logits(self.model.eval(), batch)))
                    wanted.append(batch["shares"])
            shares = torch.cat(wanted)
            self._notes["states"] = {
                "held_out": len(shares),
                "error": float(((torch.cat(said) - shares) ** 2).mean()),
                "constant": float(((shares - shares.mean()) ** 2).mean()),
            }
        return metrics
