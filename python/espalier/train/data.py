"""The rows of one run or of several, and what is to be said of where they come from."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from .._core import normal_form
from ..errors import InputError
from ..export.reader import PRODUCTS, read_product, why_none
from ..export.records import Record
from ..io.files import read_object
from ..io.rows import read_rows
from ..local.gguf import content_hash

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Input:
    """A file of rows."""

    path: Path
    rows: int
    hash: str
    """32 hexadecimal digits of its content."""
    run: dict[str, Any] = field(default_factory=dict)
    """The run.json beside it, empty where there is none."""

    @property
    def prompts(self) -> str:
        """The hash of the prompts of its run, '' for the built-in ones."""
        return str(self.run.get("inputs", {}).get("prompts", ""))

    @property
    def simulated(self) -> bool:
        """Whether a simulated model wrote the rows."""
        return bool(self.run.get("model", {}).get("name") == "simulated")

    @property
    def described(self) -> dict[str, Any]:
        """What training.json says of it."""
        run = {name: self.run.get(name) for name in ("method", "identity", "seed", "version") if name in self.run}
        return {"file": str(self.path), "rows": self.rows, "hash": self.hash, "simulated": self.simulated, "run": run}


@dataclass(frozen=True)
class Row(Generic[R]):
    """A record with the file that it stands in."""

    record: R
    source: int
    """The number of its input, from 0."""
    asked: str = ""
    """The first id of its question, "" = its own."""

    @property
    def question(self) -> str:
        """Equal for the rows of one question in all runs, which are held out together."""
        return self.asked or self.record.origin.tree


@dataclass(frozen=True)
class Data(Generic[R]):
    """What a stage learns from."""

    inputs: tuple[Input, ...]
    rows: tuple[Row[R], ...]


def read_data(folders: Sequence[str | os.PathLike[str]], product: str, kind: type[R] | tuple[type[R], ...]) -> Data[R]:
    """The rows of PRODUCT.jsonl in each folder, or of another product's file that is named itself.

    Raises InputError that names the folder, or the file, line and field.
    """
    inputs: list[Input] = []
    rows: list[Row[R]] = []
    first: dict[str, str] = {}
    for number, name in enumerate(folders):
        file = Path(name) if Path(name).is_file() else Path(name) / f"{product}.jsonl"
        if not file.is_file():
            raise InputError(f"{name}: there is no {product}.jsonl in this folder")
        if file.suffix != ".jsonl" or file.stem not in PRODUCTS:
            raise InputError(f"{file}: is no file of rows, which are {', '.join(sorted(PRODUCTS))}, each with .jsonl")
        before = len(rows)
        asked = read_rows(file.parent / "answers.jsonl") if (file.parent / "answers.jsonl").is_file() else ()
        same = {row.text("id"): first.setdefault(normal_form(row.text("question")), row.text("id")) for row in asked}
        for record in read_product(file.parent, file.stem):
            if not isinstance(record, kind):
                raise InputError(f"{file}: row '{record.origin.id}' is no row for this stage")
            rows.append(Row(record, number, same.get(record.origin.tree, "")))
        record_file = file.parent / "run.json"
        run = read_object(record_file) if record_file.is_file() else {}
        inputs.append(Input(file, len(rows) - before, content_hash(file), run))
    same_prompts(inputs)
    if not rows:
        raise InputError("; ".join(f"{one.path}: there are no rows ({why_none(one.path.parent)})" for one in inputs))
    return Data(tuple(inputs), tuple(rows))


def same_prompts(inputs: Sequence[Input]) -> None:
    """Raises InputError where the runs asked by different prompts: their rows teach different forms."""
    known = [one for one in inputs if one.run]
    for one in known[1:]:
        first = known[0]
        what = "method" if one.run.get("method") != first.run.get("method") else "prompts"
        if what == "method" or one.prompts != first.prompts:
            raise InputError(
                f"{one.path}: its run has another '{what}' than that of {first.path}, so its rows have another form"
            )
