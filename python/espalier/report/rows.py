"""What a run's files hold about each question, read row by row."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..io.files import opened

PAIRS = ("dpo.jsonl", "prm.jsonl")
ID_FIRST = re.compile(rb'\{"id":("(?:[^"\\]|\\.)*"),.*\}\n?', re.DOTALL)
"""A row as a run writes it. A tree may have many megabytes, so that it is not parsed for its id alone."""


@dataclass(frozen=True)
class QuestionRows:
    """The rows of a run about one question, as JSON. Empty where there are none."""

    id: str = ""
    answer: bytes = b""
    tree: bytes = b""
    pairs: bytes = b""
    """An array of preference pairs."""


class Rows:
    """The rows of a file, of which one is read ahead. Without a file there are none."""

    row = b""
    question: str | None = None
    is_pair = False

    def __init__(self, path: Path | None, files: ExitStack, pairs: bool = False) -> None:
        self.path = path
        self.of_pairs = pairs
        self.file = files.enter_context(opened(path)) if path else None
        self.take()

    def take(self) -> bytes:
        """The current row, of which the next one takes the place."""
        taken = self.row
        self.row = self.file.readline().rstrip(b"\n") if self.file else b""
        self.question, self.is_pair = self.told() if self.row else (None, False)
        return taken

    def told(self) -> tuple[str, bool]:
        """The id of the current row's question, and whether the row is a pair. Raises InputError."""
        try:
            if not self.of_pairs and (found := ID_FIRST.fullmatch(self.row)):
                return str(json.loads(found[1])), False
            row: Any = json.loads(self.row)
            tree = row["provenance"].get("tree") if "provenance" in row else None
            return str(row["id"] if tree is None else tree), "rejected" in row
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(f"{self.path}: field 'id': a row has none") from None


def rows_of(folder: Path) -> Iterator[QuestionRows]:
    """The questions of a run's folder, in the order of answers.jsonl. Raises InputError for a file that cannot be read,
    a row without an id, and a row that is out of order."""
    with ExitStack() as files:
        answers = Rows(folder / "answers.jsonl", files)
        trees = Rows(folder / "trees.jsonl", files)
        preferences = next((folder / name for name in PAIRS if (folder / name).exists()), None)
        pairs = Rows(preferences, files, pairs=True)
        while (question := answers.question) is not None:
            answer = answers.take()
            tree = trees.take() if trees.question == question else b""
            found = []
            while pairs.question == question:
                is_pair = pairs.is_pair
                row = pairs.take()
                if is_pair:
                    found.append(row)
            yield QuestionRows(question, answer, tree, b"[%s]" % b",".join(found) if found else b"")
        for left in (trees, pairs):
            if left.row:
                raise InputError(
                    f"{left.path}: field 'id': holds a row whose question answers.jsonl does not name in its order"
                )
