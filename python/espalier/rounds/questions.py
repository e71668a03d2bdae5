"""Which questions are trained on, and which are held out."""

from __future__ import annotations

import codecs
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .. import _core
from ..errors import InputError
from ..io.files import replacing
from ..train.examples import held_out
from .options import ImproveOptions


class Row(NamedTuple):
    """A question with its line."""

    id: str
    text: str
    line: bytes


def choose(options: ImproveOptions) -> tuple[list[Row], list[Row]]:
    """The questions to train on, and the held-out ones.

    A question whose text is held out is never trained on, whatever its id. Raises InputError for bad questions, and
    where none is left of either.
    """
    rows = rows_of(options.questions)
    if options.eval_questions:
        asked = rows_of(options.eval_questions)
    else:
        asked = [row for row in rows if held_out(row.id, options.eval_share, options.seed)]
    texts = {row.text for row in asked}
    learned = [row for row in rows if row.text not in texts]
    for found, purpose in ((learned, "to train on"), (asked, "to hold out")):
        if not found:
            raise InputError(f"{options.questions}: no question is left {purpose}, of {len(rows)}")
    return learned, asked


def write(rows: Sequence[Row], file: Path) -> Path:
    """The lines as they stood, in a file that appears whole or not at all."""
    with replacing(file) as opened:
        opened.writelines(row.line + b"\n" for row in rows)
    return file


def rows_of(file: str | os.PathLike[str]) -> list[Row]:
    """The questions of a file. Raises InputError."""
    questions = _core.read_questions(os.fspath(file), 0, True)
    lines = [line for line in Path(file).read_bytes().removeprefix(codecs.BOM_UTF8).splitlines() if line.strip()]
    return [Row(one.id, one.text, line) for one, line in zip(questions, lines, strict=True)]
