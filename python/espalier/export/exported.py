"""A file that an export wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .lengths import Report


@dataclass(frozen=True)
class Exported:
    """A file that was written."""

    path: Path
    format: str
    product: str
    """The run's file that it was made of, without .jsonl."""
    rows: int
    trainers: tuple[str, ...]
    lengths: list[Report] = field(default_factory=list)
