"""A process reward model from pairs of steps (ProRAG, Eq. 4), or from the shares of good completions (AirRAG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...export.records import Pair, Steps
from ..examples import Dropped, Examples, examples_of
from ..job import Setup, Stage
from ..options import TrainOptions, option
from ..reward_text import before_step, reward_ids
from ..source import Source
from ..states import state_example, states

if TYPE_CHECKING:
    from ...export.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class PrmOptions(TrainOptions):
    """The options of `train prm`."""

    labels: str = option(
        "pairs",
        "What is learned: which of two steps is better (pairs), or the share of good completions through a state "
        "(share).",
        "NAME",
        ("pairs", "share"),
    )
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
        self._need("center", not self.center or self.labels == "pairs", "0 with labels 'share'")


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


def text_of(record: Pair | Steps) -> str:
    if isinstance(record, Pair):
        return before_step(record) + record.chosen
    return "\n".join((record.prompt, *record.steps))


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


def examples(setup: Setup[PrmOptions, Pair | Steps]) -> Examples[Any]:
    options, policy = setup.options, setup.policy
    longest = min(options.max_length or policy.context, policy.context)
    wanted: type[Pair] | type[Steps] = Pair if options.labels == "pairs" else Steps
    for row in setup.data.rows:
        if not isinstance(row.record, wanted):
            file = setup.data.inputs[row.source].path
            other = "share" if options.labels == "pairs" else "pairs"
            raise InputError(f"{file}: row '{row.record.origin.id}' is one for option 'labels' = {other}")
    share: dict[str, Any] = {"share": options.eval_share, "seed": options.seed}
    rows: Any = setup.data.rows
    if options.labels == "pairs":
        return examples_of(rows, lambda pair: example_of(pair, policy.tokenizer, longest), longest=2 * longest, **share)
    return examples_of(
        states(rows), lambda state: state_example(state, policy.tokenizer, longest), longest=longest, **share
    )


def trainer(setup: Setup[PrmOptions, Pair | Steps]) -> Any:
    from ..rewards import PairTrainer
    from ..shares import ShareTrainer

    if setup.options.labels == "share":
        return ShareTrainer.with_shares(setup, examples(setup))
    return PairTrainer.with_reward(setup, examples(setup))


def model(policy: Any) -> Any:
    from ..rewards import reward_model

    return reward_model(policy)


PRM: Stage[PrmOptions, Pair | Steps] = Stage("prm", "prm", (Pair, Steps), text_of, rate, trainer, model)
