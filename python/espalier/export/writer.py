"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._errors import InputError
from .format import Columns, Format
from .parquet import write_parquet


def put(path: Path, write: Callable[[Path], None]) -> None:
    """Lets `write` fill a temporary file, which then takes the place of `path`."""
    temporary = path.with_name(path.name + ".part")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def put_text(path: Path, text: str) -> None:
    def write(file: Path) -> None:
        file.write_bytes(text.encode("utf-8"))

    put(path, write)


LINE_ENDS = {ord(c): f"\\u{ord(c):04x}" for c in "\x85\u2028\u2029"}
"""What JSON allows within a text, and what some readers of lines take for the end of one."""


def as_json(value: object, indent: int | None = None) -> str:
    separators = None if indent else (",", ":")
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return text.translate(LINE_ENDS)


def write_rows(path: Path, format: Format, rows: Sequence[Columns]) -> None:
    if format.schema is not None:
        schema = format.schema()
        put(path, lambda file: write_parquet(file, rows, schema))
    elif format.suffix == "json":
        put_text(path, "[\n" + ",\n".join(map(as_json, rows)) + "\n]\n")
    else:
        put_text(path, "".join(as_json(row) + "\n" for row in rows))


def merge_dataset_info(path: Path, entries: dict[str, Any]) -> None:
    """Puts entries into LLaMA-Factory's list of data sets and keeps what else is in it."""
    known: dict[str, Any] = {}
    if path.exists():
        try:
            known = json.loads(path.read_bytes())
        except ValueError as error:
            raise InputError(f"{path}: is not JSON ({error})") from None
        if not isinstance(known, dict):
            raise InputError(f"{path}: should be an object")
    put_text(path, as_json(known | entries, indent=2) + "\n")
