"""Rows as token ids, with what each token weighs in the loss."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..errors import InputError
from ..export.records import Pair, Record, reversed_pairs
from .data import Row

E = TypeVar("E", bound="Measured")
R = TypeVar("R", bound=Record)


class Dropped(Exception):
    """Why a row is left out."""


@dataclass(frozen=True)
class Measured:
    """A row of T tokens, which is batched by its length."""

    id: str
    ids: Sequence[int]
    """[T]"""

    @property
    def length(self) -> int:
        """Tokens that the model reads."""
        return len(self.ids)

    @property
    def learned(self) -> int:
        """Tokens, or other places, in the loss."""
        return 1


@dataclass(frozen=True)
class Example(Measured):
    """A row whose words are learned."""

    weights: Sequence[float]
    """[T], of each token in the loss; 0 = outside."""

    @property
    def learned(self) -> int:
        return sum(weight > 0 for weight in self.weights)


@dataclass
class Examples(Generic[E]):
    """The examples of a stage: those that are learned, and those that are held out."""

    train: list[E] = field(default_factory=list)
    held_out: list[E] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    """Rows that are left out, by reason."""

    @property
    def lengths(self) -> dict[str, Any]:
        """Rows that are learned or held out, their tokens, those of them in the loss, and quantiles by nearest rank."""
        every = [*self.train, *self.held_out]
        ordered = sorted(one.length for one in every)
        shares = {"min": 0, "median": 0.5, "p95": 0.95, "max": 1}
        return {
            "rows": len(every),
            "tokens": sum(ordered),
            "learned": sum(one.learned for one in every),
            **{name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in shares.items()},
            "dropped": dict(sorted(self.dropped.items())),
        }

    def __str__(self) -> str:
        said = self.lengths
        lost = "".join(f"; {n:,} left out: {why}" for why, n in said["dropped"].items())
        quantiles = ", ".join(f"{name} {said[name]:,}" for name in ("min", "median", "p95", "max"))
        total = f"{said['rows']:,} rows, {said['tokens']:,} tokens, {said['learned']:,} of them in the loss"
        return f"{total}; tokens of a row: {quantiles}{lost}"


def examples_of(
    rows: Sequence[Row[R]], make: Callable[[R], E], *, longest: int, share: float, seed: int
) -> Examples[E]:
    """What `make` makes of the rows, which raises Dropped for those to leave out. Rows of more than `longest` tokens
    are left out too, and pairs with their reverse. All rows of a question are held out together.

    Raises InputError if nothing is left.
    """
    found: Examples[E] = Examples()
    first = ""
    against = reversed_pairs(row.record for row in rows)
    for row in rows:
        try:
            example = make(row.record)
            if isinstance(row.record, Pair) and row.record.sides in against:
                raise Dropped("another pair says the reverse")
            if example.length > longest:
                raise Dropped(f"longer than {longest:,} tokens")
        except Dropped as why:
            found.dropped[str(why)] += 1
            first = first or f"row '{row.record.origin.id}': {why}"
            continue
        (found.held_out if held_out(row.question, share, seed) else found.train).append(example)
    if not found.train:
        more = f"; the first: {first}" if first else "; all are held out"
        raise InputError(f"none of the {len(rows):,} rows is left to learn from{more}")
    return found


def held_out(question: str, share: float, seed: int) -> bool:
    """Whether a question's rows are held out: a share of them that the seed draws."""
    drawn = hashlib.blake2b(f"{seed}:{question}".encode(), digest_size=8).digest()
    return int.from_bytes(drawn, "big") < share * 2**64
