"""What a run left, as tables: answers, nodes of trees, costs, training rows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from .._core import Tree
from ..errors import one_line
from ..io.fields import Fields
from ..io.files import file_of, read_object
from ..io.read import read_trees
from ..io.rows import read_rows
from .table import Table

__all__ = ["RunTables", "Table", "nodes_of"]
__dir__ = __all__.copy

COSTS = dict.fromkeys(("completions", "prompt_tokens", "completion_tokens", "retrievals"), "int")
UNREAD = dict.fromkeys(("unread", "cut", "cut_read", "refused", "repairs", "repaired", "constrained"), "int")
"""Counts that trees write where they are not 0."""
ANSWERS = {
    **dict.fromkeys(("question_id", "question", "answer", "status", "error"), "text"),
    **dict.fromkeys(("em", "f1", "acc"), "float"),
    **COSTS,
    **dict.fromkeys(("started", "seconds"), "float"),
    **dict.fromkeys(("cached", "attempts"), "int"),
}
NODES = {
    "question_id": "text",
    **dict.fromkeys(("node", "parent", "depth"), "int"),
    **dict.fromkeys(("kind", "text", "thought", "key"), "text"),
    "forced": "bool",
    "notice": "text",
    "documents": "texts",
    "visits": "int",
    **dict.fromkeys(("value", "total", "reward", "prior"), "float"),
    "evaluated": "bool",
    **dict.fromkeys(("status", "reason"), "text"),
}
OF_THE_RUN = ("trees", "answers", "costs")
"""Files of rows that are no training data."""


def nodes_of(trees: Iterable[Tree]) -> Table:
    """The nodes of trees in memory, a row each, as `RunTables.nodes` has them."""
    return _nodes(Fields(f"tree {number}", tree.to_dict()) for number, tree in enumerate(trees))


def read_run(folder: str | os.PathLike[str]) -> RunTables:
    """A folder of `espalier expand`, `answer`, `rescore` or `annotate`. Files are read when they are needed.

    Raises InputError if it holds no run that is finished.
    """
    return RunTables(folder)


class RunTables:
    """What `read_run` gives."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        file_of(self.folder, "summary.json")

    def __repr__(self) -> str:
        said = self.summary
        return one_line(f"RunTables({self.folder}: {said['method']}, {said['questions']:,} questions)")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        return read_object(self.folder / "summary.json")

    @cached_property
    def trees(self) -> list[Tree]:
        return read_trees(self.folder / "trees.jsonl")

    @cached_property
    def answers(self) -> Table:
        """One row per question."""
        costs = self._rows("costs") if (self.folder / "costs.jsonl").is_file() else ()
        spent = {row.text("id"): row.data for row in costs}
        answers = ((row.text("id"), row.data) for row in self._rows("answers"))
        rows = ({**row, **spent.get(question, {}), "question_id": question} for question, row in answers)
        return Table("answers", rows, ANSWERS)

    @cached_property
    def nodes(self) -> Table:
        """One row per node of a tree. Later annotations by models are in columns `annotation_NAME`."""
        return _nodes(self._rows("trees"))

    @cached_property
    def costs(self) -> Table:
        """One row per question and purpose."""
        rows = (
            {"question_id": tree.text("id"), "purpose": purpose, **dict.fromkeys(UNREAD, 0), **costs.row(purpose).data}
            for tree in self._rows("trees")
            for costs in [tree.row("costs")]
            for purpose in costs.data
        )
        return Table("costs", rows, {"question_id": "text", "purpose": "text", **COSTS, **UNREAD})

    @cached_property
    def products(self) -> dict[str, Table]:
        """The training rows by the names of their files: "sft", "dpo" ... `provenance.options` is JSON as text."""
        files = sorted(file.stem for file in self.folder.glob("*.jsonl"))
        names = [name for name in files if name not in OF_THE_RUN]
        return {name: Table(name, (_product(row.data) for row in self._rows(name))) for name in names}

    def to_parquet(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes every table into a folder, as NAME.parquet. Training data without rows or columns is left out."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        tables = [self.answers, self.nodes, self.costs, *self.products.values()]
        return [table.to_parquet(target / f"{table.name}.parquet") for table in tables if table.columns]

    def _rows(self, name: str) -> Iterator[Fields]:
        return (Fields(row.where, row.fields) for row in read_rows(self.folder / f"{name}.jsonl"))


def _nodes(trees: Iterable[Fields]) -> Table:
    rows: list[dict[str, Any]] = []
    columns = dict(NODES)
    for tree in trees:
        question, nodes = tree.text("id"), tree.rows("nodes")
        said = _annotations(tree.row("annotations"), len(nodes)) if tree.has("annotations") else {}
        columns |= dict.fromkeys(said, "float")
        depths: list[int] = []
        for number, node in enumerate(nodes):
            parent = node.whole("parent") if number else None
            if parent is not None and not 0 <= parent < number:
                raise node.wrong("parent", f"is {parent}, allowed: a node before it")
            depths.append(0 if parent is None else depths[parent] + 1)
            row = {**node.data, "question_id": question, "node": node.whole("id"), "depth": depths[-1]}
            row["forced"] = node.data.get("forced", False)
            documents = node.rows("documents") if node.has("documents") else []
            row["documents"] = [document.text("id") for document in documents]
            rows.append(row | {name: numbers[number] for name, numbers in said.items()})
    return Table("nodes", rows, columns)


def _annotations(said: Fields, nodes: int) -> dict[str, list[Any]]:
    """What was said about each node, by column."""
    for name in said.data:
        if len(said.items(name)) != nodes:
            raise said.wrong(name, f"should have an item for each of {nodes} nodes")
    return {f"annotation_{name}": said.items(name) for name in said.data}


def _product(row: Mapping[str, Any]) -> dict[str, Any]:
    """The options as text: each method has its own, and they are the same in every row."""
    provenance = row.get("provenance")
    if not isinstance(provenance, dict) or "options" not in provenance:
        return dict(row)
    return {**row, "provenance": {**provenance, "options": json.dumps(provenance["options"], ensure_ascii=False)}}
