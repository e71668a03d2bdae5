"""Rows with columns of known types, for use by other libraries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

from ..errors import InputError, needed, one_line
from ..io.files import replacing

DTYPES = {"text": "string", "int": "Int64", "float": "float64", "bool": "boolean", "texts": "object"}
"""Of pandas; None in an int or a bool stays None."""


class Table:
    """Rows as dictionaries.

    `columns` maps names to text, int, float, bool or texts (a list). None = as the rows have it. polars, duckdb and
    others read the table through Arrow's stream interface.
    """

    def __init__(self, name: str, rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._rows = list(rows)
        names = {name: "" for row in self._rows for name in row} if columns is None else columns
        self.columns: dict[str, str] = dict(names)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return ({name: row.get(name) for name in self.columns} for row in self._rows)

    def __repr__(self) -> str:
        names = shorten(one_line(", ".join(self.columns)), 500, placeholder=f" ... {len(self.columns):,} columns")
        return f"Table({self.name}: {len(self):,} rows of {names})"

    def _column(self, name: str) -> list[Any]:
        return [row.get(name) for row in self._rows]

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        pandas = needed("pandas", "this")
        return pandas.DataFrame(
            {
                name: pandas.Series(self._column(name), dtype=DTYPES.get(sort, "object"))
                for name, sort in self.columns.items()
            }
        )

    def to_arrow(self) -> Any:
        """A pyarrow Table. Raises InputError for a column that mixes types."""
        pyarrow = needed("pyarrow", "this")
        types = {
            "text": pyarrow.string(),
            "int": pyarrow.int64(),
            "float": pyarrow.float64(),
            "bool": pyarrow.bool_(),
            "texts": pyarrow.list_(pyarrow.string()),
        }
        arrays = {}
        for name, sort in self.columns.items():
            try:
                arrays[name] = pyarrow.array(self._column(name), types.get(sort))
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
                raise InputError(f"{self.name}: column '{name}': {error}") from None
        return pyarrow.table(arrays)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_datasets(self) -> Any:
        """A Dataset of Hugging Face's datasets, in memory."""
        return needed("datasets", "this").Dataset(self.to_arrow())

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Writes a Parquet file, which appears whole or not at all. Returns its path."""
        arrow = self.to_arrow()
        import pyarrow.parquet

        with replacing(path) as file:
            pyarrow.parquet.write_table(arrow, file)
        return Path(path)
