"""Searching problems that are written in Python, with selection, pruning and backup of one's own.

A `Problem` says which kinds of step a state allows, proposes actions and takes steps. Its functions, and the value of
states, are called once for all waiting states of all trees. They may be `async`, and may return an exception in place
of an item. They must return as many items as they got. Anything else is a BackendError that names the part. A
`PerRequest` function is asked for one state after the other instead, with its `kind` and `count`, or its `action`.

A policy is called once per node, with one array entry per child:

    select(N, Q, P) -> scores             the highest is selected, the oldest of equals
    backup(value, N, W) -> W              from the leaf to the root: visits with this one, and the new sums of values

N holds visits (those under way included), Q mean values (0 where N is 0, the parent's where all are under way), P
priors, W sums of values. A selection may take one more argument `siblings`, which holds all that a native selection
reads of these children (`Siblings`).

A pruning policy is the one of all engines, as `search.TopK(2)` or a function of siblings that returns ids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _core
from ._core import ProblemNode, ProblemTree, Proposal, Puct, Siblings, Uct
from .bridge.per_request import PerRequest
from .errors import whole
from .gone import absent, keywords
from .protocols import Batch, Problem

if TYPE_CHECKING:
    from .protocols import Backup, Evaluator, PruningLike, SelectionPolicy, SiblingSelectionPolicy

__all__ = ["Problem", "ProblemNode", "ProblemTree", "Proposal", "Siblings", "layered", "mcts"]

if not TYPE_CHECKING:
    __getattr__ = absent(__name__)


@keywords
def mcts(
    problem: Problem,
    roots: Iterable[Any],
    value: Evaluator,
    *,
    select: Uct | Puct | SelectionPolicy | SiblingSelectionPolicy | None = None,
    prune: PruningLike | None = None,
    backup: Backup | None = None,
    simulations: int = 32,
    width: int = 4,
    max_depth: int | None = None,
    window: int = 1,
    values: str = "first",
    seed: int = 1,
) -> list[ProblemTree]:
    """Grows a tree from each root by Monte-Carlo tree search. `value(states)` gives a float for each new state.

    `width`: actions per node and kind. `window`: simulations under way in one tree, which changes the tree and makes
    batches larger. `values`: which nodes get their own, as in `search.Mcts`. With `leaf` visits are those of OpenSpiel.
    `prune` is asked after each simulation about the node that it valued and its siblings with a value. What it cuts is
    not selected again. The default selection is UCT, the default backup is the mean, and nothing is pruned.

    A policy that fails, or a function that fails as a backend, ends its own tree alone. The first of these errors is
    raised when the others are grown, and has them as `trees`, None for those that failed.
    """
    functions = _functions(problem, value)
    chosen = Uct() if select is None else _policy("selection", select, Uct, Puct)
    enter = _policy("backup", backup)
    sees = callable(chosen) and _takes("siblings", chosen)
    grown = _core.mcts_problem(
        functions, list(roots), chosen, sees, prune, enter, simulations, width, max_depth, window, values, seed
    )
    return whole(*grown)


@keywords
def layered(
    problem: Problem,
    roots: Iterable[Any],
    value: Evaluator,
    *,
    prune: PruningLike | None = None,
    width: int = 3,
    seed: int = 1,
) -> list[ProblemTree]:
    """Grows a tree from each root layer by layer, the legal kinds of a node in order, up to `width` actions each.

    `prune` is asked about siblings when values have come, at its `before` ahead of them, and at its `keep` when the
    node has all its kinds: what that leaves is grown further, by default the best child.
    Errors are those of `mcts`.
    """
    functions = _functions(problem, value)
    return whole(*_core.layered_problem(functions, list(roots), prune, width, seed))


Row: TypeAlias = tuple[Any, ...]
RowFunction: TypeAlias = Callable[[list[Row]], Batch[Any]] | PerRequest[Any]


def _functions(problem: Problem, value: Evaluator) -> list[RowFunction]:
    """The four functions as functions of one list of rows."""
    named = [(f"the problem's {name}", getattr(problem, name, None)) for name in ("kinds", "propose", "step")]
    return [_by_rows(role, function) for role, function in [*named, ("the value", value)]]


def _by_rows(role: str, function: Any) -> RowFunction:
    """A function of lists as a function of rows. The last item of a row is a seed, except for kinds."""
    if not callable(function):
        raise TypeError(f"{role} must be a function, not {type(function).__name__}")
    seeded = not role.endswith("kinds")
    if isinstance(function, PerRequest):
        return _by_row(function, seeded)
    wants_seeds = seeded and _takes("seeds", function)

    def call(rows: list[Row]) -> Batch[Any]:
        columns = [list(column) for column in zip(*rows, strict=True)]
        seeds = columns.pop() if seeded else []
        return function(*columns, seeds=seeds) if wants_seeds else function(*columns)  # type: ignore[no-any-return]

    return call


def _by_row(function: PerRequest[Any], seeded: bool) -> PerRequest[Any]:
    """The same for a function that is asked request by request."""
    wants_seed = seeded and _takes("seed", function.function)

    def call(row: Row) -> Awaitable[Any]:
        items, seed = (row[:-1], row[-1]) if seeded else (row, None)
        return function.function(*items, seed=seed) if wants_seed else function.function(*items)

    return PerRequest(call, deadline=function.deadline)


def _takes(parameter: str, function: Callable[..., Any]) -> bool:
    try:
        return parameter in signature(function).parameters
    except ValueError:  # compiled functions may not say
        return False


def _policy(role: str, policy: Any, *native: type) -> Any:
    if policy is None or isinstance(policy, native) or callable(policy):
        return policy
    raise TypeError(f"the {role} must be a function, not {type(policy).__name__}")
