"""Rows for trainers from trees in memory."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from .. import _core
from .._core import Tree
from ..bridge.mismatch import fault_of
from ..gone import keywords
from ..runs.job import text_of
from ..runs.reversed_pairs import against
from .method import Method

log = logging.getLogger("espalier")


@keywords
def sft_rows(trees: Sequence[Tree], *, chain: str | None = None) -> list[dict[str, Any]]:
    """Fine-tuning rows, as the method that grew the trees writes them into sft.jsonl.

    `chain` (best, most, least or random) replaces the method's option of that name: which correct chain of a tree is
    taken. Trees of an engine give the rows of DecEx-RAG. A method that makes none gives none, and the log says so.
    Raises ValueError for an option that the method does not have.
    """
    return _rows("sft_rows", trees, "sft.jsonl", chain=chain)


@keywords
def dpo_pairs(trees: Sequence[Tree], *, margin: float | None = None, chain: str | None = None) -> list[dict[str, Any]]:
    """Preference pairs, as the method that grew the trees writes them into dpo.jsonl, and ProRAG into prm.jsonl.

    `margin` (the least difference of two rewards, 0 or more) and `chain` replace the method's options of these names.
    A pair and its reverse are both left out. The rest is as for `sft_rows`.
    """
    rows = _rows("dpo_pairs", trees, "dpo.jsonl", "prm.jsonl", margin=margin, chain=chain)
    pairs = [row for row in rows if "chosen" in row]
    if len(pairs) < len(rows):
        log.warning("dpo_pairs(): airrag makes no pairs, but scores of states in prm.jsonl, see Method.rows")
    return [row for row, lost in zip(pairs, against(pairs), strict=True) if not lost]


def _rows(call: str, trees: Sequence[Tree], *files: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of the first of these files that the method of each tree makes."""
    if fault := fault_of(trees, "Sequence[Tree]", "trees"):
        raise TypeError(f"{call}(): {fault}")
    given = {name: value for name, value in options.items() if value is not None}
    if not trees:
        Method("decex", set=given)  # checks them
    found: list[dict[str, Any]] = []
    file = ""
    for (name, grown_with), group in groupby(trees, grown_by):
        made = Method(name, set=dict(grown_with) | given).rows(list(group))
        file = next((file for file in files if file in made), "")
        if not file:
            log.warning("%s(): %s makes %s, see Method.rows", call, name, ", ".join(made) or "no rows")
        found += made.get(file, [])
    if file and not found:
        right = sum(tree.to_row()["em"] == 1 for tree in trees)
        why = "rows are made where an answer is right, pairs where branches differ in worth"
        log.warning("%s(): there are no rows, of %d trees %d have the right answer: %s", call, len(trees), right, why)
    return found


def grown_by(tree: Tree) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The method that makes a tree's rows, with its options but functions. Engines give trees of DecEx-RAG."""
    if tree.method not in _core.method_names():
        return "decex", ()
    known = {row[0]: row[2] for row in _core.method_options(tree.method) if row[0] not in ("prune", "values")}
    options = {name: value for name, value in tree.options.items() if name in known and value is not None}
    if options.get("reward") not in known.get("reward", "").split(", "):
        options.pop("reward", None)
    return tree.method, tuple((name, text_of(value)) for name, value in options.items())
