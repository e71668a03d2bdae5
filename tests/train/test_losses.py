"""The weighted loss, with numbers worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from espalier.train.batches import LengthBatches, collate
from espalier.train.examples import Example, held_out
from espalier.train.losses import amount, weighted_nll


class Fixed:
    """Says the same logits at every place."""

    def __init__(self, logits: list[float]) -> None:
        self.logits = torch.tensor(logits)

    def __call__(self, input_ids: torch.Tensor, logits_to_keep: int, **_: Any) -> Any:
        return SimpleNamespace(logits=self.logits.expand(len(input_ids), logits_to_keep, -1))


def test_the_loss_of_two_tokens_is_that_of_the_formula():
    """p = (1/4, 3/4). Token 0 with weight 2 and token 1 with weight 1: 2 ln 4 + ln 4/3 = 3.0602, over 2 tokens
    1.5301, over the weights 1.0201."""
    model = Fixed([0.0, math.log(3)])
    ids, weights = torch.tensor([[1, 0, 1]]), torch.tensor([[0.0, 2.0, 1.0]])
    total = weighted_nll(model, ids, weights)
    assert total.item() == pytest.approx(2 * math.log(4) + math.log(4 / 3), abs=1e-6)
    assert amount(weights, "tokens").item() == 2 and amount(weights, "weights").item() == 3
    assert (total / amount(weights, "tokens")).item() == pytest.approx(1.530136, abs=1e-5)
    assert (total / amount(weights, "weights")).item() == pytest.approx(1.020091, abs=1e-5)


def test_weights_of_one_are_the_plain_loss_of_transformers(network):
    torch.manual_seed(1)
    ids = torch.randint(0, 256, (3, 20))
    weights = torch.ones(3, 20)
    weights[:, :6] = 0
    labels = ids.masked_fill(weights == 0, -100)
    plain = network(input_ids=ids, labels=labels).loss
    ours = weighted_nll(network, ids, weights) / amount(weights, "tokens")
    assert ours.item() == pytest.approx(plain.item(), abs=1e-6)


def test_rows_that_begin_their_loss_at_different_places_lose_nothing(network):
    torch.manual_seed(2)
    ids, weights = torch.randint(0, 256, (2, 12)), torch.zeros(2, 12)
    weights[0, 9], weights[1, 3:5] = 2.0, 0.5
    logs = torch.log_softmax(network(input_ids=ids).logits, -1)
    nll = -logs[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
    assert weighted_nll(network, ids, weights).item() == pytest.approx((nll * weights[:, 1:]).sum().item(), abs=1e-4)


def test_padding_changes_no_loss(network):
    rows = [Example("a", [5, 6, 7], [0, 1, 1]), Example("b", list(range(9)), [0.0] * 4 + [1.0] * 5)]
    together = collate(rows, pad=256)
    apart = sum(weighted_nll(network, *collate([row], pad=256).values()).item() for row in rows)
    assert weighted_nll(network, together["input_ids"], together["weights"]).item() == pytest.approx(apart, abs=1e-4)


def test_what_documents_say_is_not_learned(network):
    """The logits that predict a document's tokens get no gradient, and what follows them does."""
    torch.manual_seed(3)
    ids, weights = torch.randint(0, 256, (1, 12)), torch.ones(1, 12)
    weights[0, 4:9] = 0
    kept: list[torch.Tensor] = []

    def keep(module: Any, args: Any, out: torch.Tensor) -> None:
        out.retain_grad()
        kept.append(out)

    handle = network.lm_head.register_forward_hook(keep)
    weighted_nll(network, ids, weights).backward()
    handle.remove()
    touched = kept[0].grad[0].abs().sum(-1) > 0
    assert [i + 1 for i, one in enumerate(touched.tolist()) if one] == [1, 2, 3, 9, 10, 11]


def test_a_row_without_a_loss_is_worth_nothing(network):
    assert weighted_nll(network, torch.tensor([[1, 2]]), torch.zeros(1, 2)).item() == 0


def test_batches_hold_every_row_once_within_the_limit():
    lengths = [3, 50, 7, 7, 8, 120, 9, 30]
    batches = LengthBatches(lengths, tokens=60, seed=1)
    assert sorted(i for batch in batches for i in batch) == list(range(8)) and len(batches) == len(list(batches))
    assert all(len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= 60 for batch in batches)
    first = list(batches)
    assert first == list(batches) == list(LengthBatches(lengths, 60, 1))
    batches.set_epoch(1)
    assert sorted(map(sorted, first)) == sorted(map(sorted, batches))


def test_a_share_of_the_questions_is_held_out():
    drawn = [held_out(f"0:q{i}", 0.1, 1) for i in range(4000)]
    assert 300 < sum(drawn) < 500 and not any(held_out(f"0:q{i}", 0.0, 1) for i in range(100))
