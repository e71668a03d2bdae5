"""Passages and trees from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _core
from .._core import Index, Passage, Tree


def read_passages(path: str | os.PathLike[str], *, limit: int = 0) -> list[Passage]:
    """Passages from JSON lines {"id", "title", "contents"} or TSV, plain or .gz. `limit` 0 = all. Raises InputError."""
    return _core.read_passages(os.fspath(path), limit)


def count_passages(settings: Mapping[str, Any]) -> int:
    """The number of passages in the `corpus` or `index` of a run's settings, 0 with neither. Raises InputError."""
    if settings.get("index"):
        return len(Index(settings["index"]))
    return len(read_passages(settings["corpus"])) if settings.get("corpus") else 0


def read_trees(path: str | os.PathLike[str]) -> list[Tree]:
    """The trees of a trees.jsonl. Raises InputError."""
    return _core.read_trees(os.fspath(path))
