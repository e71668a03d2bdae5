"""The rows of a file of questions in JSON, JSON lines, CSV, TSV or Parquet, plain or .gz."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from .. import _core
from ..errors import InputError, needed
from .files import opened, unique

CELL = 1 << 24
"""Longest cell of a CSV file, in characters."""
ENDLESS = re.compile(r"NaN|Infinity|[eE]\+?\d{3}")
"""What stands in JSON text that may hold a number without an end."""


@dataclass(frozen=True)
class Row:
    """One record of a file, which says where it stands when something in it is wrong."""

    where: str
    number: int
    """From 0."""
    fields: Mapping[str, Any]
    path: str = ""
    """The fields around these, as `answer.`."""
    used: set[str] = field(default_factory=set, compare=False)
    """The fields that were read."""

    def fail(self, field: str, what: str) -> NoReturn:
        raise InputError(f"{self.where}: field '{self.path}{field}': {what}")

    def has(self, field: str) -> bool:
        return self.fields.get(field) is not None

    def first_of(self, *names: str) -> str:
        """The first of these names that the row has, or the last one if it has none."""
        return next((name for name in names if self.has(name)), names[-1])

    def _value(self, field: str) -> Any:
        if not self.has(field):
            self.fail(field, "is missing")
        self.used.add(field)
        value = self.fields[field]
        if isinstance(value, float) and not math.isfinite(value):
            self.fail(field, f"is {'NaN' if math.isnan(value) else 'infinity'}")
        return value

    def _structure(self, field: str) -> Any:
        """A list or an object, which may be JSON text, as in a cell of CSV."""
        value = parsed(self._value(field))
        if isinstance(value, str):
            self.fail(field, "is a text that is not JSON")
        return value

    def text(self, field: str) -> str:
        value = self._value(field)
        if not isinstance(value, str):
            self.fail(field, "is not a text")
        if not value.strip():
            self.fail(field, "is empty")
        return value.strip()

    def name(self, field: str) -> str:
        """A text or a whole number, as a text."""
        value = self._value(field)
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
            self.fail(field, "holds a number of more than 64 bits: write it as a text")
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else self.text(field)

    @property
    def id(self) -> str | None:
        """Under any of the names that ids have, None without one."""
        found = next((name for name in _core.id_fields if self.has(name)), None)
        return None if found is None else self.name(found)

    def texts(self, field: str) -> list[str]:
        """A list of texts, alone or in records as SQuAD's. A single text becomes a list of one."""
        value = parsed(self._value(field))
        items = value if isinstance(value, list) else [self.text(field) if isinstance(value, str) else value]
        found = self.all_texts(field, [text for item in items for text in _spelled(item)])
        if found and not any(text.strip() for text in found):
            self.fail(field, "holds an empty answer")
        return found

    def gold(self) -> list[str]:
        """The answers and their aliases, whatever name they have here."""
        kinds = {name: _core.gold_name(name) for name, value in self.fields.items() if value not in (None, "", [], {})}
        usual = [name for name in ("golden_answers", "answers", "answer") if name in kinds]
        fields = usual + [name for kind in ("gold", "perhaps") for name in kinds if kinds[name] == kind]
        found = self.texts(fields[0]) if fields else []
        choices = {"choices", "options"} & self.fields.keys()
        if found and choices and all(re.fullmatch("[A-Ka-k0-9]", text) for text in found):
            self.fail(fields[0], "names a choice, and gold answers are texts")
        return found + (self.aliases() if fields else [])

    def aliases(self) -> list[str]:
        """Other names of the answer."""
        names = [name for name in self.fields if _core.gold_name(name) == "alias" and self.has(name)]
        return [text for name in names for text in self.texts(name)]

    def all_texts(self, field: str, value: object) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail(field, "is not a list of texts")
        return value

    def inner(self, field: str) -> Row:
        """The object in this field."""
        value = self._structure(field)
        if not isinstance(value, dict):
            self.fail(field, "is not an object")
        return Row(self.where, self.number, value, f"{self.path}{field}.")

    def records(self, field: str, *columns: str) -> list[list[Any]]:
        """A list of records as rows of these columns.

        A record may be a list in this order or an object, and the whole may be an object of columns, as Arrow has it.
        `a|b` are two names of one column. A column ending in `?` may be missing (None).
        """
        value = self._structure(field)
        if isinstance(value, dict):
            found = [self._cell(field, value, column) for column in columns]
            lists = [cells for cells in found if cells is not None]
            if not all(isinstance(cells, list) and len(cells) == len(lists[0]) for cells in lists):
                self.fail(field, "holds columns that are not lists of one length")
            return [[None if cells is None else cells[i] for cells in found] for i in range(len(lists[0]))]
        if not isinstance(value, list):
            self.fail(field, "is not a list")
        return [self._record(field, item, columns) for item in value]

    def _record(self, field: str, item: object, columns: Sequence[str]) -> list[Any]:
        if isinstance(item, dict):
            return [self._cell(field, item, column) for column in columns]
        if not isinstance(item, list) or len(item) != len(columns):
            self.fail(field, f"holds something that is not {len(columns)} parts")
        return item

    def _cell(self, field: str, item: Mapping[str, Any], column: str) -> Any:
        names = column.rstrip("?").split("|")
        found = next((item[name] for name in names if item.get(name) is not None), None)
        if found is None and not column.endswith("?"):
            self.fail(field, f"holds a record without '{names[0]}'")
        return found


def parsed(value: object) -> Any:
    """The list or object that a text of JSON holds, as in a cell of CSV. Any other value is itself."""
    read = None
    with suppress(ValueError, RecursionError):
        read = json.loads(value) if isinstance(value, str) else None
    return read if isinstance(read, (list, dict)) else value


def _spelled(answer: object) -> list[Any]:
    """An answer, or those of a record as SQuAD's or TriviaQA's: its text, then its aliases."""
    match answer:
        case {"text": own, **more} | {"value": own, **more} | {"Value": own, **more} | {"answer": own, **more}:
            rest = (value for name, value in more.items() if value and _core.gold_name(str(name)) in ("alias", "gold"))
            return [text for part in (own, *rest) for text in (part if isinstance(part, list) else [part])]
    return [answer]


def read_rows(source: str | os.PathLike[str]) -> Iterator[Row]:
    """The rows of a file. Raises InputError that names the file and the line or row."""
    path = Path(source)
    name = path.name.lower().removesuffix(".gz")
    try:
        if name.endswith(".parquet"):
            yield from _parquet(path)
            return
        with unpacked(path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as file:
            if name.endswith((".csv", ".tsv")):
                yield from _cells(path, file, "excel" if name.endswith(".csv") else "excel-tab")
            elif name.endswith((".jsonl", ".ndjson")):
                yield from _numbered(_lines(path, _ended(path, file)))
            else:
                yield from _json(path, file)
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8") from None


@contextmanager
def unpacked(path: Path) -> Iterator[Any]:
    """The bytes of a file, or of what was packed in it as .gz. "-" is standard input. Raises InputError for UTF-16,
    and for what is damaged."""
    with ExitStack() as stack:
        stream: Any = sys.stdin.buffer if str(path) == "-" else stack.enter_context(opened(path))
        try:
            if stream.peek(2)[:2] == b"\x1f\x8b":
                stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
            begin = stream.peek(2)[:2]
            if begin in (b"\xff\xfe", b"\xfe\xff") or 0 in begin:
                raise InputError(f"{path}:1: is UTF-16, must be UTF-8")
            yield stream
        except EOFError:
            raise InputError(f"{path}: is cut short") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{path}: is damaged: {error}") from None


def _ended(path: Path, file: io.TextIOWrapper) -> Iterator[str]:
    """The lines. Raises InputError for a million blank ones in a row and for a line of a gibibyte."""
    blank = 0
    while line := file.readline(1 << 30):
        blank = 0 if line.strip() else blank + 1
        if blank == 1_000_000 or len(line) == 1 << 30:
            what = "1,000,000 blank lines in a row" if blank > 1 else "a line of more than a gibibyte"
            raise InputError(f"{path}: holds {what}")
        yield line


def _json(path: Path, file: io.TextIOWrapper) -> Iterator[Row]:
    """JSON lines if the first line is a complete object. Otherwise one list, or an object with a list `Data`."""
    begin, lines = [""], _ended(path, file)
    while not begin[-1].strip():
        begin.append(next(lines, ""))
        if not begin[-1]:
            return
    text = begin[-1]
    if text.lstrip()[0] not in "[{":
        raise InputError(f"{path}: is neither JSON nor JSON lines (files of CSV, TSV and Parquet are known by name)")
    if text.lstrip()[0] == "{":
        try:
            whole = not {"Data", "data"}.isdisjoint(json.loads(text))
        except (ValueError, RecursionError):
            whole = True
        if not whole:
            yield from _numbered(_lines(path, chain(begin[1:], lines)))
            return
    value = _loaded(text + "".join(lines), str(path))
    if isinstance(value, dict):
        value = value.get("Data", value.get("data"))
    if not isinstance(value, list):
        raise InputError(f"{path}: holds no list of questions")
    yield from _numbered((f"{path}: row {number}", item) for number, item in enumerate(value, 1))


def _lines(path: Path, lines: Iterable[str]) -> Iterator[tuple[str, object]]:
    for line, text in enumerate(lines, 1):
        if text.strip():
            yield f"{path}:{line}", _loaded(text, f"{path}:{line}")


def _numbered(items: Iterable[tuple[str, object]]) -> Iterator[Row]:
    """The objects among the items, each with its place."""
    found = ((where, value) for where, item in items for value in _unfolded(item))
    for number, (where, value) in enumerate(found):
        if not isinstance(value, dict):
            raise InputError(f"{where}: is not an object")
        yield Row(where, number, value)


def _unfolded(value: object) -> Iterator[object]:
    """The questions of a paragraph, as SQuAD and MRQA have them. Another object is itself."""
    match value:
        case {"paragraphs": [{"qas": _}, *_] as paragraphs}:
            for paragraph in paragraphs:
                yield from _unfolded(paragraph)
        case {"qas": [*questions]}:
            yield from questions
        case {"header": dict(), **rest} if not rest:
            return
        case _:
            yield value


def _endless(value: object, path: str = "") -> str:
    """Which field holds NaN or infinity, "" if none does."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"field '{path}': holds {'NaN' if math.isnan(value) else 'infinity'}, which is no JSON"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    within = (_endless(item, f"{path}.{name}" if path else str(name)) for name, item in items)
    return next(filter(None, within), "")


def _loaded(text: str, where: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=unique)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        line = f", line {error.lineno}" if error.lineno > 1 else ""
        raise InputError(f"{where}{line}: is not JSON: {error.msg}, column {error.colno}") from None
    except UnicodeEncodeError:
        raise InputError(f"{where}: holds half of a surrogate pair") from None
    except RecursionError:
        raise InputError(f"{where}: is nested too deep") from None
    except ValueError as error:
        raise InputError(f"{where}: is not JSON: {error}") from None
    if ENDLESS.search(text):
        for number, item in enumerate(value if isinstance(value, list) else [value], 1):
            if found := _endless(item):
                raise InputError(f"{where}{f': row {number}' if isinstance(value, list) else ''}: {found}")
    return value


def _cells(path: Path, file: io.TextIOWrapper, dialect: str) -> Iterator[Row]:
    csv.field_size_limit(max(csv.field_size_limit(), CELL))
    reader = csv.reader(_ended(path, file), dialect, strict=True)
    try:
        header = next(reader, [])
        if twice := [name for place, name in enumerate(header) if name and name in header[:place]]:
            raise InputError(f"{path}:1: field '{twice[0]}': names two columns")
        for number, cells in enumerate(cells for cells in reader if cells):
            where = f"{path}:{reader.line_num}"
            if len(cells) != len(header):
                raise InputError(f"{where}: has {len(cells)} cells, the header has {len(header)}")
            yield Row(where, number, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from None


def _parquet(path: Path) -> Iterator[Row]:
    parquet = needed("pyarrow", "Parquet", "pyarrow.parquet")
    with opened(path) as file:
        try:
            batches = parquet.ParquetFile(file).iter_batches(batch_size=64)
            for number, item in enumerate(item for batch in batches for item in batch.to_pylist()):
                yield Row(f"{path}: row {number + 1}", number, item)
        except (ValueError, OSError) as error:
            raise InputError(f"{path}: is no Parquet file that can be read: {error}") from None
