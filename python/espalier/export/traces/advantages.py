"""Advantages of the branches of a tree.

Every branch b has the outcome advantage A_b. Every step n of the policy may have a process advantage P_n. A token of
step n has the advantage A_b + beta P_n within branch b.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev

from ...errors import InputError
from ..records import Trace

EPSILON = 1e-4
"""Added to standard deviations."""

Tokens = Mapping[int, int] | None
"""How many tokens each step has, by its place. None = every step counts once."""

PROCESS_REWARDS = {
    "prorag": "`espalier annotate RUN --with prm` adds them",
    "reasonrag": "they come from answers, where there is gold",
}
"""The methods whose steps may have rewards, and where these come from."""


@dataclass(frozen=True)
class Advantages:
    outcome: dict[int, float]
    """By the place of the branch's leaf."""
    process: dict[int, float]
    """By the place of the step, already multiplied by beta. Steps without a score are missing."""


def normalised(values: Sequence[float], *, keep: bool = False) -> list[float]:
    """(value - mean) / (sample standard deviation + 1e-4). A single value is 0, or itself with `keep`."""
    if len(values) < 2:
        return [value if keep else 0.0 for value in values]
    mean, deviation = fmean(values), stdev(values)
    return [(value - mean) / (deviation + EPSILON) for value in values]


def over_tokens(values: Sequence[float], tokens: Sequence[int]) -> list[float]:
    """(value - mean) / (population standard deviation + 1e-4), where each value stands as often as it has tokens. All
    are 0 where there are no tokens (ProRAG's code)."""
    every = sum(tokens)
    if not every:
        return [0.0] * len(values)
    mean = sum(n * value for n, value in zip(tokens, values, strict=True)) / every
    variance = sum(n * (value - mean) ** 2 for n, value in zip(tokens, values, strict=True)) / every
    return [(value - mean) / (math.sqrt(variance) + EPSILON) for value in values]


def over_all(trace: Trace, *, keep: bool = False) -> dict[int, float]:
    """Outcomes normalised over all branches of the question."""
    return dict(zip(trace.outcomes, normalised(list(trace.outcomes.values()), keep=keep), strict=True))


def outcome(trace: Trace, beta: float, tokens: Tokens = None) -> Advantages:
    """The outcome alone: the baseline, as in GRPO (arXiv 2402.03300)."""
    return Advantages(over_all(trace), {})


def tree(trace: Trace, beta: float, tokens: Tokens = None, *, code: bool = False) -> Advantages:
    """Outcomes normalised within each tree of the question and over all its trees, added (Tree-GRPO, arXiv
    2509.21240), where a group of one tells nothing. Its `code` normalises over the question, and what comes out within
    each tree, where a group of one keeps its value. The trees are the branches that begin with the same step."""
    trees: dict[int, list[int]] = {}
    for leaf in trace.outcomes:
        first = next(place for place in trace.path(leaf) if trace.nodes[place].sampled)
        trees.setdefault(first, []).append(leaf)
    found = over_all(trace, keep=code)
    for leaves in trees.values():
        values = [found[leaf] if code else trace.outcomes[leaf] for leaf in leaves]
        for leaf, within in zip(leaves, normalised(values, keep=code), strict=True):
            found[leaf] = within if code else found[leaf] + within
    return Advantages(found, {})


def process(trace: Trace, beta: float, tokens: Tokens = None) -> Advantages:
    """Outcome and process rewards, each normalised over the question and then added (ProRAG, Eq. 7 and 8). A step that
    branches share counts once, or with `tokens` once per token."""
    method = trace.origin.method
    if method not in PROCESS_REWARDS:
        raise InputError(
            f"trees of the method '{method}' have no process rewards, which the advantage 'process' needs, allowed: "
            + ", ".join(PROCESS_REWARDS)
        )
    if not trace.judged:
        raise InputError(
            f"question '{trace.origin.tree}': its steps have no process rewards, which the advantage 'process' needs; "
            + PROCESS_REWARDS[method]
        )
    steps = [(place, node.reward) for place, node in enumerate(trace.nodes) if node.reward is not None]
    rewards = [reward for _, reward in steps]
    values = normalised(rewards) if tokens is None else over_tokens(rewards, [tokens[place] for place, _ in steps])
    return Advantages(over_all(trace), {place: beta * value for (place, _), value in zip(steps, values, strict=True)})


TREES: dict[str, Callable[..., Advantages]] = {"tree": tree, "tree-code": partial(tree, code=True)}
ADVANTAGES: dict[str, Callable[..., Advantages]] = {"outcome": outcome, **TREES, "process": process}
"""By name. Each takes a trace, beta, the weight of the process advantage, and tokens, by which it may normalise."""


def check_beta(beta: float) -> None:
    """Raises ValueError."""
    if not 0 <= beta < math.inf:
        raise ValueError(f"beta is {beta}, allowed: 0 or more")
