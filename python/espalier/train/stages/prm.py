"""A process reward model from pairs of steps (ProRAG, Eq. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...export.records import Pair
from ..examples import Dropped, Examples, examples_of
from ..job import Setup, Stage
from ..options import TrainOptions, option
from ..reward_text import before_step, reward_ids
from ..source import Source

if TYPE_CHECKING:
    from ...export.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class PrmOptions(TrainOptions):
    """The options of `train prm`."""

    center: float = option(
        0.0,
        "The weight of the squared sum of a pair's two rewards, which keeps rewards near 0, where steps are filtered.",
        "X",
    )
    eval_share: float = option(
        0.1, "The share of the questions whose pairs are held out. The accuracy on them is reported.", "X"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._need("center", 0 <= self.center < float("inf"), "0 or more")


@dataclass(frozen=True)
class RewardPair:
    """Two texts, which differ in their last step."""

    id: str
    chosen: Sequence[int]
    rejected: Sequence[int]

    @property
    def ids(self) -> Sequence[int]:
        """The longer side."""
        return max(self.chosen, self.rejected, key=len)

    @property
    def weights(self) -> Sequence[float]:
        """Only the last token is read."""
        return [0.0] * (len(self.ids) - 1) + [1.0]

    @property
    def length(self) -> int:
        """Tokens of a batch that both sides take, padded."""
        return 2 * len(self.ids)

    @property
    def learned(self) -> int:
        return 2


def text_of(pair: Pair) -> str:
    return before_step(pair) + pair.chosen


def rate(source: Source, options: PrmOptions) -> float:
    """1e-3 for a new micro model, 1e-4 for adapters, else 1e-5."""
    return 1e-3 if source.kind == "micro" else 1e-4 if options.lora else 1e-5


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


def examples(setup: Setup[PrmOptions, Pair]) -> Examples[RewardPair]:
    options, policy = setup.options, setup.policy
    longest = min(options.max_length or policy.context, policy.context)

    def make(pair: Pair) -> RewardPair:
        return example_of(pair, policy.tokenizer, longest)

    return examples_of(setup.data.rows, make, longest=2 * longest, share=options.eval_share, seed=options.seed)


def trainer(setup: Setup[PrmOptions, Pair]) -> Any:
    from ..rewards import PairTrainer

    return PairTrainer.with_reward(setup, examples(setup))


def model(policy: Any) -> Any:
    from ..rewards import reward_model

    return reward_model(policy)


PRM = Stage("prm", "prm", Pair, text_of, rate, trainer, model)
