"""Reading and writing of data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from . import _core
from ._core import Index, Passage, Question, Tree
from ._errors import InputError


def read_questions(
    path: str | os.PathLike[str], format: str | None = None, *, limit: int = 0, require_gold: bool = False
) -> list[Question]:
    """Questions from JSON lines {"id", "question", "golden_answers", "metadata"}, or from a published file.

    `format` names the form of the file, such as "hotpotqa" (`espalier questions --help` lists them); None = as its
    first row suggests. `limit` 0 = all. Raises InputError.
    """
    from . import datasets

    if format is None and datasets.is_own(path):
        return _core.read_questions(os.fspath(path), limit, require_gold)
    return datasets.read_questions(path, format, limit=limit, require_gold=require_gold)


def read_passages(path: str | os.PathLike[str], *, limit: int = 0) -> list[Passage]:
    """Passages from JSON lines {"id", "title", "contents"}; `limit` 0 = all. Raises InputError."""
    return _core.read_passages(os.fspath(path), limit)


def count_passages(settings: Mapping[str, Any]) -> int:
    """How many passages the `corpus` or the `index` of a run's settings has; 0 with neither. Raises InputError."""
    if settings.get("index"):
        return len(Index(settings["index"]))
    return len(read_passages(settings["corpus"])) if settings.get("corpus") else 0


def read_trees(path: str | os.PathLike[str]) -> list[Tree]:
    """The trees of a trees.jsonl. Raises InputError."""
    return _core.read_trees(os.fspath(path))


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The object in a JSON file. Raises InputError."""
    try:
        read = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error})") from None
    if not isinstance(read, dict):
        raise InputError(f"{path}: is not an object")
    return read


def record_of(run: Path) -> dict[str, Any]:
    """The content of a run's run.json. Raises InputError."""
    file = run / "run.json"
    try:
        record = read_object(file)
    except FileNotFoundError:
        raise InputError(f"{file}: there is no run in this folder") from None
    for name in ("identity", "method"):
        if not isinstance(record.get(name), str):
            raise InputError(f"{file}: is no record of a run (field '{name}': is missing)")
    return record


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` once it is whole, and leaves nothing after an error."""
    target = Path(path)
    part = target.with_name(target.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_jsonl(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any] | Tree]) -> None:
    """Writes rows or trees, a line each. The file appears whole or not at all."""
    with replacing(path) as file:
        for row in rows:
            text = (
                row.to_json() if isinstance(row, Tree) else json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            )
            file.write(f"{text}\n".encode())


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The file appears whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())
