"""The losses that are our own."""

from __future__ import annotations

from typing import Any

import torch


def amount(weights: torch.Tensor, divisor: str) -> torch.Tensor:
    """What divides the loss of a batch with weights [B, T]: the number of tokens in it, or the sum of their weights
    (`divisor` is tokens or weights). The first token of a row is not predicted and does not count."""
    weights = weights[:, 1:]
    return (weights > 0).sum() if divisor == "tokens" else weights.sum()


def weighted_nll(model: Any, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The sum over tokens of weight times -log p(token | those before it), a scalar (ProRAG, Eq. 1, undivided).

    `ids` and `weights` are [B, T]. Logits are made only from the first token in the loss of any row on.
    """
    weights = weights[:, 1:]
    columns = (weights > 0).any(0).nonzero()
    if not len(columns):
        return weights.sum()
    kept = ids.shape[1] - int(columns[0])
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=kept).logits[:, :-1].float()
    nll = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1 - kept :].flatten(), reduction="none").view(
        len(ids), -1
    )
    return (nll * weights[:, 1 - kept :]).sum()
