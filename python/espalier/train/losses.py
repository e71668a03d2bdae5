"""The losses that are our own."""

from __future__ import annotations

from collections.abc import Mapping
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


def policy_gradient_loss(model: Any, batch: Mapping[str, torch.Tensor], kl: float) -> torch.Tensor:
    """The sum over tokens of -A rho + kl D, a scalar (GRPO, arXiv 2402.03300, undivided). The samples are those of the
    weights as they are, so the ratio rho is 1 and nothing is clipped. D is r - log r - 1 with r = p_reference / p.

    `batch` has the prompts [B, P] on the left and the completions [B, T] on the right, a mask of each, `tool_mask`
    and `advantages` [B, T], and `ref_per_token_logps` [B, T] where `kl` is above 0.
    """
    said = batch["completion_ids"]
    ids = torch.cat([batch["prompt_ids"], said], 1)
    seen = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    logits = model(input_ids=ids, attention_mask=seen, use_cache=False, logits_to_keep=said.shape[1] + 1).logits
    spoken = torch.log_softmax(logits[:, :-1].float(), -1).gather(-1, said[..., None])[..., 0]
    ratio = torch.exp(spoken - spoken.detach())
    loss = -batch["advantages"] * ratio
    if kl:
        far = batch["ref_per_token_logps"] - spoken
        loss = loss + kl * (torch.exp(far) - far - 1) * ratio
    return (loss * batch["completion_mask"] * batch["tool_mask"]).sum()
