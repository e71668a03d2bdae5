"""Batches of rows of nearly equal length, so that little is padding, and their losses that are our own."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from .examples import Example


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


Batch = dict[str, torch.Tensor]


class LengthBatches(torch.utils.data.Sampler):  # type: ignore[misc]
    """Numbers of rows, batch by batch: `rows * longest row` is at most `tokens`, and at least one row is in a batch.

    Which rows go together depends on the seed alone. The order of the batches also depends on the epoch.
    """

    def __init__(self, lengths: Sequence[int], tokens: int, seed: int) -> None:
        self._seed, self._epoch = seed, 0
        tie = torch.randperm(len(lengths), generator=torch.Generator().manual_seed(seed)).tolist()
        self._batches: list[list[int]] = []
        batch: list[int] = []
        for number in sorted(range(len(lengths)), key=lambda i: (lengths[i], tie[i])):
            if batch and (len(batch) + 1) * lengths[number] > tokens:
                self._batches.append(batch)
                batch = []
            batch.append(number)
        if batch:
            self._batches.append(batch)

    @property
    def batches(self) -> list[list[int]]:
        """From the shortest rows to the longest."""
        return self._batches

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[list[int]]:
        noise = torch.Generator().manual_seed(self._seed * 1_000_003 + self._epoch)
        for number in torch.randperm(len(self._batches), generator=noise).tolist():
            yield self._batches[number]


def padded(rows: Sequence[Sequence[int]], pad: int) -> Batch:
    """B rows, padded on the right to T tokens: `input_ids`, and an `attention_mask` that is 1 at them, both [B, T]."""
    ids = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)
    mask = pad_sequence([torch.ones(len(row), dtype=torch.long) for row in rows], batch_first=True)
    return {"input_ids": ids, "attention_mask": mask}


def collate(examples: Sequence[Example], pad: int) -> Batch:
    """B rows, padded on the right to T tokens: input_ids [B, T] and weights [B, T].

    No mask is needed. A token sees only those before it, and padding has no weight.
    """
    weights = pad_sequence([torch.tensor(one.weights, dtype=torch.float32) for one in examples], batch_first=True)
    return {"input_ids": padded([one.ids for one in examples], pad)["input_ids"], "weights": weights}
