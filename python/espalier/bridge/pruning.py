"""What a pruning policy written in Python sees and says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import index
from typing import Any

from ..errors import PolicyError

REASONS = ("none", "outvoted", "below_threshold", "not_best", "skipped")
"""Why a policy may cut, in the order of the compiled part."""


@dataclass(frozen=True)
class Verdict:
    """What a pruning policy decides."""

    cut: Iterable[int | tuple[int, str]] = ()
    """Ids, or pairs of an id and the reason: outvoted, below_threshold, not_best (the default) or skipped."""
    enough: bool = False
    """Kinds that were not grown yet are skipped."""


class Sibling:
    """A node that a pruning policy is asked about. It can be read until the policy has answered."""

    id: int
    value: float
    """Its mean, 0 before it has a value."""
    visits: int
    prior: float
    kind: Any
    """Such as "query"; a number in a problem of one's own."""
    action: Any
    """The text of its action; the action itself in a problem of one's own."""
    depth: int
    """Those of the root have 1."""

    __slots__ = ("_asked", "_row")

    def __init__(self, row: Sequence[Any], asked: list[bool]) -> None:
        self._row, self._asked = dict(zip(Sibling.__annotations__, row, strict=True)), asked

    def __getattr__(self, name: str) -> Any:
        if name not in Sibling.__annotations__:
            raise AttributeError(f"a sibling has no '{name}', it has {', '.join(Sibling.__annotations__)}")
        if not self._asked:
            raise PolicyError("a sibling can be read only while its pruning policy is asked")
        return self._row[name]


def moments_of(policy: Any) -> tuple[str, list[Callable[..., Any] | None]]:
    """The policy's name, and what asks it before values, at values and when a node is done."""
    functions = [getattr(policy, "before", None), policy, getattr(policy, "keep", None)]
    if isinstance(policy, type) or not any(map(callable, functions)):
        raise TypeError(f"prune must be a policy, a text such as 'top_k:2' or a function of siblings, not {policy!r}")
    names = [getattr(policy, attribute, None) for attribute in ("fingerprint", "name", "__qualname__")]
    name = next((name for name in names if isinstance(name, str)), type(policy).__qualname__)
    return name, [partial(ask, name, function) if callable(function) else None for function in functions]


def ask(
    policy: str, function: Callable[..., Any], rows: Sequence[Any], children: Mapping[int, int], parent: int
) -> tuple[list[tuple[int, int]], bool]:
    """The places that a function cuts with the numbers of its reasons, and whether enough is known."""
    asked = [True]
    try:
        reply = function(tuple(Sibling(row, asked) for row in rows))
        verdict = reply if isinstance(reply, Verdict) else Verdict(reply)
        cut = [item if isinstance(item, tuple) else (item, "not_best") for item in verdict.cut]
        named = [(index(node), reason) for node, reason in cut]
    except Exception as error:
        raise PolicyError(f"the pruning policy {policy} raised {type(error).__name__}: {error}") from error
    finally:
        asked.clear()
    for node, reason in named:
        if node not in children:
            raise PolicyError(f"the pruning policy {policy} cuts node {node}, which is no child of node {parent}")
        if reason not in REASONS[1:]:
            raise PolicyError(f"the pruning policy {policy} gives the reason {reason!r}, not {', '.join(REASONS[1:])}")
    return [(children[node], REASONS.index(reason)) for node, reason in named], bool(verdict.enough)
