"""The files of an export."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..io.files import as_json, read_object, replacing, write_text
from .format import Columns, Format


def meta_type() -> Any:
    import pyarrow as pa

    return pa.struct([("tree", pa.string()), ("nodes", pa.list_(pa.int64()))])


def messages_type() -> Any:
    import pyarrow as pa

    return pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


def write_parquet(path: Path, rows: Sequence[Columns], schema: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replacing(path) as file:
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), file)


def write_rows(path: Path, format: Format, rows: Sequence[Columns]) -> None:
    if format.schema is not None:
        write_parquet(path, rows, format.schema())
    elif format.suffix == "json":
        write_text(path, "[\n" + ",\n".join(map(as_json, rows)) + "\n]\n")
    else:
        write_text(path, "".join(as_json(row) + "\n" for row in rows))


def merge_dataset_info(path: Path, files: Mapping[Path, Columns]) -> None:
    """Puts the entries of files into LLaMA-Factory's list of data sets and keeps what else is in it. A file without an
    entry is not for LLaMA-Factory: an entry of an older file with its name goes."""
    before = read_object(path) if path.exists() else {}
    stale = {file.stem for file, entry in files.items() if not entry}
    kept = {name: entry for name, entry in before.items() if name not in stale}
    entries = {file.stem: {"file_name": file.name, **entry} for file, entry in files.items() if entry}
    if entries or kept != before:
        write_text(path, as_json(kept | entries, indent=2) + "\n")
