"""Parquet files, by pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import MissingPart
from ..io.files import replacing
from .format import Columns


def need_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingPart("Parquet files need pyarrow: pip install 'espalier-rag[data]'") from None


def meta() -> Any:
    import pyarrow as pa

    return pa.struct([("tree", pa.string()), ("nodes", pa.list_(pa.int64()))])


def messages() -> Any:
    import pyarrow as pa

    return pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


def write_parquet(path: Path, rows: Sequence[Columns], schema: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replacing(path) as file:
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), file)
