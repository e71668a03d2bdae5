"""What a stage of training is, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..export.records import Record
from .data import Data, Row
from .examples import E, Examples, examples_of
from .options import TrainOptions
from .source import Source

if TYPE_CHECKING:
    from .policy import Policy

Opt = TypeVar("Opt", bound=TrainOptions)
R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    out: Path
    steps: int
    loss: float | None
    """Of the last logged steps."""
    eval_loss: float | None
    """Of the held-out rows at the end, None without any."""
    recognised: bool = False
    """It had been finished before, and nothing was done."""


@dataclass
class Setup(Generic[Opt, R]):
    """All that a stage needs to make its trainer."""

    options: Opt
    data: Data[R]
    source: Source
    policy: Policy
    folder: Path
    """Gets checkpoints."""
    rate: float
    say: Callable[[str], None]
    notes: dict[str, Any] = field(default_factory=dict)
    """What training.json and the card say besides: the stage adds to it."""

    @property
    def longest(self) -> int:
        """The most tokens of a row."""
        return min(self.options.max_length or self.policy.context, self.policy.context)

    def examples(
        self, make: Callable[[R], E], rows: Sequence[Row[R]] | None = None, longest: int | None = None
    ) -> Examples[E]:
        """What `make` makes of the rows. It first says how long they are. Raises as `examples_of`."""
        options = self.options
        found = examples_of(
            self.data.rows if rows is None else rows,
            make,
            longest=longest or self.longest,
            share=options.eval_share,
            seed=options.seed,
        )
        self.notes["lengths"] = found.lengths
        self.say(str(found))
        return found


@dataclass(frozen=True)
class Stage(Generic[Opt, R]):
    """What is special to a stage."""

    texts: Callable[[R], str]
    """What a new tokenizer is trained on."""
    rates: tuple[float, float, float]
    """The learning rates where none is given: for a new micro model, for adapters, for other models."""
    trainer: Callable[[Setup[Opt, R]], Any]
    """Makes the trainer: a WholeCheckpoints."""
    model: Callable[[Any], Any] = attrgetter("model")
    """Makes what is trained of the Policy: its model, or that with other outputs."""

    def rate(self, source: Source, options: Opt) -> float:
        micro, adapters, other = self.rates
        return options.lr or (micro if source.kind == "micro" else adapters if options.lora else other)
