"""A process reward model from pairs of steps (ProRAG, Eq. 4), or from the shares of good completions (AirRAG)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers

from ...errors import InputError
from ...export.records import Pair, Steps
from ...export.tokenizer import Tokenizer
from ...export.traces.text import neutral
from ..batches import Batch, padded
from ..data import Row
from ..examples import Dropped, Measured
from ..options import PrmOptions
from ..stage import Setup, Stage
from ..trainer import OwnLoss
from ..value_text import before_step, reward_ids


@dataclass(frozen=True)
class RewardPair(Measured):
    """Two texts, which differ in their last step: the tokens of the chosen one, and of the rejected one."""

    rejected: Sequence[int]

    @property
    def length(self) -> int:
        """Tokens of a batch that both sides take, padded."""
        return 2 * max(len(self.ids), len(self.rejected))

    @property
    def learned(self) -> int:
        return 2


def text_of(record: Pair | Steps) -> str:
    if isinstance(record, Pair):
        return before_step(record) + record.chosen
    return "\n".join((record.prompt, *record.steps))


def example_of(pair: Pair, tokenizer: Tokenizer, longest: int) -> RewardPair:
    """A pair's tokens. A long history loses its oldest part. Raises Dropped."""
    if pair.chosen == pair.rejected:
        raise Dropped("chosen equals rejected")
    before = before_step(pair)
    chosen, rejected = (
        reward_ids(before + step, tokenizer, longest, len(before)) for step in (pair.chosen, pair.rejected)
    )
    if chosen is None or rejected is None:
        raise Dropped(f"question and step are longer than {longest:,} tokens")
    return RewardPair(pair.origin.id, chosen, rejected)


def reward_model(policy: Any) -> Any:
    """A model with the policy's body and a new output of one number, read at the last token."""
    config = policy.model.config
    config.pad_token_id = policy.tokenizer.loaded.pad_token_id
    config.num_labels = 1
    made = transformers.AutoModelForSequenceClassification.from_config(config)
    made.base_model.load_state_dict(policy.model.base_model.state_dict())
    return made


def margins(model: Any, batch: Batch) -> torch.Tensor:
    """R+ - R- of B pairs, [B]."""
    chosen, rejected = model(**batch, use_cache=False).logits.float().squeeze(-1).chunk(2)
    return chosen - rejected


def ranking_loss(difference: torch.Tensor) -> torch.Tensor:
    """The sum of -log sigmoid(R+ - R-) (ProRAG, Eq. 4), a scalar."""
    return -torch.nn.functional.logsigmoid(difference).sum()


class PairTrainer(OwnLoss):
    """Learns which of two steps is better: the mean over a batch's pairs. TRL's trainer leaves long pairs out."""

    def collate(self, examples: Sequence[RewardPair]) -> Batch:
        """[2 B, T]: all chosen texts, then all rejected ones."""
        return padded([*(one.ids for one in examples), *(one.rejected for one in examples)], self._pad)

    def loss_of(self, model: Any, batch: Batch) -> torch.Tensor:
        return ranking_loss(margins(model, batch))

    def amount_of(self, batch: Batch) -> torch.Tensor:
        return super().amount_of(batch) / 2

    def said_of(self, model: Any, batch: Batch) -> list[bool]:
        return list((margins(model, batch) > 0).tolist())

    def note(self, said: Sequence[Any]) -> None:
        """The share of the held-out pairs whose better step has the higher reward."""
        right = [one for batch in said for one in batch]
        self._notes["pairs"] = {"held_out": len(right), "accuracy": sum(right) / len(right)}


SHOWN = {
    "query": "Query: {}",
    "sub_answer": "Response: {}",
    "own_answer": "Answer from own knowledge: {}",
    "answer": "Answer: {}",
    "thought": "{}",
}
"""How a history shows the parts of a step. Others, such as rewritten queries, are not shown."""


@dataclass(frozen=True)
class State(Measured):
    """The text of a state. It is worth the share of good completions through it, as in AirRAG's reward model and in
    OmegaPRM (arXiv 2406.06592), whose Monte-Carlo estimate is the share of rollouts that end right."""

    share: float
    """0 to 1."""


def states(chains: Sequence[Row[Steps]]) -> list[Row[Steps]]:
    """The chains up to each of their steps. What several chains share stands there once.

    Raises InputError for a score that is no share.
    """
    found: dict[object, Row[Steps]] = {}
    for row in chains:
        chain = row.record
        if bad := [value for value in chain.values if not 0 <= value <= 1]:
            raise InputError(f"row '{chain.origin.id}': a score of {bad[0]:g} is no share, which lies from 0 to 1")
        for end in range(1, len(chain.steps) + 1):
            cut = replace(chain, steps=chain.steps[:end], values=chain.values[:end], parts=chain.parts[:end])
            found.setdefault((row.question, cut.parts, cut.values[-1]), Row(cut, row.source, row.asked))
    return list(found.values())


def state_text(state: Steps) -> tuple[str, int]:
    """What a search sends of a finished path, said of any state: question, history and the newest text, a paragraph
    each. And the code point at which the newest text begins. Raises Dropped where nothing is shown."""
    parts = [part for step in state.parts for part in step if part[0] in SHOWN]
    if not parts:
        raise Dropped("its history shows nothing yet")
    history = "\n".join(SHOWN[kind].format(neutral(text)) for kind, text in parts)
    before = f"{neutral(state.prompt)}\n\n{history}\n\n\n"
    return before + neutral(parts[-1][1]), len(before)


def state_example(state: Steps, tokenizer: Tokenizer, longest: int) -> State:
    """A state's tokens. A long history loses its oldest part. Raises Dropped."""
    text, at = state_text(state)
    ids = reward_ids(text, tokenizer, longest, at)
    if ids is None:
        raise Dropped(f"question and step are longer than {longest:,} tokens")
    return State(f"{state.origin.id}:{len(state.steps)}", ids, state.values[-1])


def logits(model: Any, batch: Batch) -> torch.Tensor:
    """[B]: 2 R. A search reads a reward as 1/2 + tanh(R)/2 = sigmoid(2 R), which is the share."""
    read = {name: batch[name] for name in ("input_ids", "attention_mask")}
    found: torch.Tensor = 2 * model(**read, use_cache=False).logits.float().squeeze(-1)
    return found


def share_loss(logits: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """The sum of -s log p - (1 - s) log(1 - p) for shares s and p = sigmoid(logits), a scalar."""
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, shares, reduction="sum")


class ShareTrainer(OwnLoss):
    """Learns the share of good completions of states. The loss of a batch is the mean over its states."""

    def collate(self, examples: Sequence[State]) -> Batch:
        """[B, T], and `shares` [B]."""
        shares = torch.tensor([one.share for one in examples])
        return padded([one.ids for one in examples], self._pad) | {"shares": shares}

    def loss_of(self, model: Any, batch: Batch) -> torch.Tensor:
        return share_loss(logits(model, batch), batch["shares"])

    def said_of(self, model: Any, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.sigmoid(logits(model, batch)), batch["shares"]

    def note(self, said: Sequence[Any]) -> None:
        """The mean squared error of the held-out shares, beside that of their mean."""
        found, shares = map(torch.cat, zip(*said, strict=True))
        self._notes["states"] = {
            "held_out": len(shares),
            "error": float(((found - shares) ** 2).mean()),
            "constant": float(((shares - shares.mean()) ** 2).mean()),
        }


def trainer(setup: Setup[PrmOptions, Any]) -> OwnLoss:
    pairs, tokenizer, longest = setup.options.labels == "pairs", setup.policy.tokenizer, setup.longest
    for row in setup.data.rows:
        if not isinstance(row.record, Pair if pairs else Steps):
            file, other = setup.data.inputs[row.source].path, "share" if pairs else "pairs"
            raise InputError(f"{file}: row '{row.record.origin.id}' is one for option 'labels' = {other}")
    if pairs:
        found = setup.examples(lambda pair: example_of(pair, tokenizer, longest), longest=2 * longest)
        return PairTrainer(setup, found)
    rows = states(setup.data.rows)
    return ShareTrainer(setup, setup.examples(lambda state: state_example(state, tokenizer, longest), rows))


PRM: Stage[PrmOptions, Pair | Steps] = Stage(text_of, (1e-3, 1e-4, 1e-5), trainer, reward_model)
