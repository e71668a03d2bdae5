"""The loss of a process reward model. TRL's trainer of rewards has the same, but leaves long pairs out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transformers

from .batches import Batch
from .examples import Examples
from .reward_text import padded
from .stages.prm import RewardPair
from .trainer import WeightedTrainer


def reward_model(policy: Any) -> Any:
    """A model with the policy's body and a new output of one number, read at the last token."""
    config = policy.model.config
    config.pad_token_id = policy.tokenizer.loaded.pad_token_id
    config.num_labels = 1
    made = transformers.AutoModelForSequenceClassification.from_config(config)
    made.base_model.load_state_dict(policy.model.base_model.state_dict())
    return made


def collate_pairs(pairs: Sequence[RewardPair], pad: int) -> Batch:
    """`input_ids` and `attention_mask` [2 B, T]: all chosen texts, then all rejected ones."""
    ids, mask = padded([*(one.chosen for one in pairs), *(one.rejected for one in pairs)], pad)
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


def margins(model: Any, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """R+ - R- and R+ + R- of B pairs, [B] each."""
    chosen, rejected = model(**batch, use_cache=False).logits.float().squeeze(-1).chunk(2)
    return chosen - rejected, chosen + rejected


def ranking_loss(difference: torch.Tensor) -> torch.Tensor:
    """The sum of -log sigmoid(R+ - R-) (ProRAG, Eq. 4), a scalar."""
    return -torch.nn.functional.logsigmoid(difference).sum()


class PairTrainer(WeightedTrainer):
    """Learns which of two steps is better. The loss of a batch is the mean over its pairs."""

    @classmethod
    def with_reward(cls, setup: Any, examples: Examples[Any]) -> Any:
        made = cls.of(setup, examples, divisor="tokens")
        made.data_collator = lambda pairs: collate_pairs(pairs, made._pad)
        made._notes = setup.notes
        return made

    def loss_of(self, model: Any, batch: Batch) -> torch.Tensor:
        difference, both = margins(model, batch)
        return ranking_loss(difference) + self._options.center * (both**2).sum()  # type: ignore[attr-defined]

    def amount_of(self, batch: Batch) -> torch.Tensor:
        return torch.tensor(len(batch["input_ids"]) / 2, device=batch["input_ids"].device)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Also notes the share of the held-out pairs whose better step has the higher reward."""
        metrics = super().evaluate(*args, **kwargs)
        if self.eval_dataset:
            right = 0
            with torch.no_grad(), self.compute_loss_context_manager():
                for batch in self._loader(self.eval_dataset):
                    right += int((margins(self.model.eval(), self._prepare_inputs(batch))[0] > 0).sum())
            self._notes["pairs"] = {"held_out": len(self.eval_dataset), "accuracy": right / len(self.eval_dataset)}
        return metrics
