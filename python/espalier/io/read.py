"""Questions, passages and trees from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _core
from .._core import Index, Passage, Question, Tree


def read_questions(
    path: str | os.PathLike[str], format: str | None = None, *, limit: int = 0, require_gold: bool = False
) -> list[Question]:
    """Questions from JSON lines {"id", "question", "golden_answers", "metadata"}, or from a published file.

    `format` names the form of the file, such as "hotpotqa" (`espalier questions --help` lists them). None = detected
    from its first row. `limit` 0 = all. Raises InputError.
    """
    from .. import datasets

    if format is None and datasets.is_own(path):
        return _core.read_questions(os.fspath(path), limit, require_gold)
    return datasets.read_questions(path, format, limit=limit, require_gold=require_gold)


def read_passages(path: str | os.PathLike[str], *, limit: int = 0) -> list[Passage]:
    """Passages from JSON lines {"id", "title", "contents"}. `limit` 0 = all. Raises InputError."""
    return _core.read_passages(os.fspath(path), limit)


def count_passages(settings: Mapping[str, Any]) -> int:
    """The number of passages in the `corpus` or `index` of a run's settings, 0 with neither. Raises InputError."""
    if settings.get("index"):
        return len(Index(settings["index"]))
    return len(read_passages(settings["corpus"])) if settings.get("corpus") else 0


def read_trees(path: str | os.PathLike[str]) -> list[Tree]:
    """The trees of a trees.jsonl. Raises InputError."""
    return _core.read_trees(os.fspath(path))
