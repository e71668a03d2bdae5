"""Checkpoints that are whole or absent."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from ..errors import first_line

PART = "checkpoint.part"
NAME = re.compile(r"checkpoint-(\d+)")


def step_of(checkpoint: Path) -> int:
    """The step after which it was written, -1 for another file."""
    name = NAME.fullmatch(checkpoint.name)
    return int(name[1]) if name else -1


def newest(folder: Path) -> Path | None:
    """The last whole checkpoint. What a kill left of another is removed."""
    if not folder.is_dir():
        return None
    shutil.rmtree(folder / PART, ignore_errors=True)
    return max((one for one in folder.iterdir() if step_of(one) >= 0), key=step_of, default=None)


def why_unwritten(error: Exception, folder: Path) -> str:
    """Why a file could not be written. safetensors and torch do not say that a disk is full."""
    full = "No space left" in str(error) or shutil.disk_usage(folder).free < 1 << 16
    return "the disk is full" if full else first_line(error)


def synchronise(path: Path) -> None:
    """Brings a file, or a folder with all that is in it, to the disk."""
    for inner in path.iterdir() if path.is_dir() else ():
        synchronise(inner)
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def place(written: Path, folder: Path) -> None:
    """Makes a written checkpoint the only one: it is synchronised, takes its place, and older ones are removed."""
    synchronise(written)
    target = folder / written.name
    shutil.rmtree(target, ignore_errors=True)
    written.rename(target)
    synchronise(folder)
    shutil.rmtree(folder / PART, ignore_errors=True)
    for one in folder.iterdir():
        if 0 <= step_of(one) != step_of(target):
            shutil.rmtree(one)
