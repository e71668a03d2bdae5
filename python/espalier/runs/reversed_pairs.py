"""Pairs of a run's rows whose reverse stands there as well: what two trees of one text may say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..io.files import opened, replacing
from ..report.rows import PAIRS


def leave_out_reversed(folder: Path) -> dict[str, str]:
    """Leaves them out of the files in a run's folder. Returns what the run notes of it, by file."""
    notes: dict[str, str] = {}
    for file in (folder / name for name in PAIRS if (folder / name).exists()):
        with opened(file) as rows:
            lost = against(map(json.loads, rows))
        if any(lost):
            notes[file.name] = f"{sum(lost)} pairs were left out: another one says the reverse"
            with opened(file) as rows, replacing(file) as kept:
                kept.writelines(row for row, gone in zip(rows, lost, strict=True) if not gone)
    return notes


def against(rows: Iterable[Mapping[str, Any]]) -> list[bool]:
    """Of each row, whether another one says the reverse."""
    pairs = [both_ways(row) for row in rows]
    said = {pair for pair, _ in pairs}
    return [pair != reverse and reverse in said for pair, reverse in pairs]


def both_ways(row: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """What a pair says, and what its reverse would say. They are equal for a row that is no pair."""
    sides = [side.get("new_step") if isinstance(side, dict) else side for side in map(row.get, ("chosen", "rejected"))]
    return digest(row, sides), digest(row, sides[::-1])


def digest(row: Mapping[str, Any], sides: list[Any]) -> bytes:
    said = json.dumps([row.get("prompt"), row.get("input"), *sides])
    return hashlib.blake2b(said.encode(), digest_size=16).digest()
