"""Loads exported files with a trainer's own code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._errors import MissingPart


@dataclass(frozen=True)
class Verified:
    """What a trainer makes of a file."""

    path: Path
    by: str
    """The trainer's class and the library's version."""
    rows: int
    taken: int
    """Rows that are left after its own preparation."""


def verify(files: Sequence[Path], trainer: str, tokenizer: str | None = None) -> list[Verified]:
    """What a trainer (trl) makes of files. Raises MissingPart where it is not installed, InputError where it refuses a
    file. Without a tokenizer one of bytes is made up."""
    if trainer not in TRAINERS:
        raise ValueError(f"trainer is '{trainer}', allowed: {', '.join(TRAINERS)}")
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(2, "No such file", str(file))
    return TRAINERS[trainer](files, tokenizer)


def by_trl(files: Sequence[Path], tokenizer: str | None) -> list[Verified]:
    try:
        from . import verify_trl
    except ImportError as error:
        raise MissingPart(f"trl cannot be used ({error}): pip install trl") from None
    return [found for file in files for found in verify_trl.verify_file(file, tokenizer)]


TRAINERS: dict[str, Callable[[Sequence[Path], str | None], list[Verified]]] = {"trl": by_trl}
