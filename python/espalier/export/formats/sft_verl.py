"""A conversation in Parquet: verl's trainer of conversations."""

from __future__ import annotations

from typing import Any

from ..format import Format
from ..records import Dialogue
from .sft_messages import rows


def schema() -> Any:
    import pyarrow as pa

    from ..parquet import messages, meta

    return pa.schema([("id", pa.string()), ("meta", meta()), ("messages", messages())])


FORMAT = Format("sft.verl", ("verl",), ("sft", "rft"), Dialogue, rows, suffix="parquet", schema=schema)
