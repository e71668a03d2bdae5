"""Loads exported files with a trainer's own code."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingPart
from .byte_tokenizer import byte_tokenizer

TRAINERS = ("trl", "llamafactory", "verl", "openrlhf")
"""Each has a module verify_NAME here and is called so in the package index."""


@dataclass(frozen=True)
class Verified:
    """What a trainer makes of a file."""

    path: Path
    by: str
    """The trainer's class and the library's version."""
    rows: int
    taken: int
    """Rows that are left after its own preparation."""


def verify(
    files: Sequence[Path], trainer: str, tokenizer: str | None = None, max_length: int | None = None
) -> list[Verified]:
    """What a trainer (trl, llamafactory, verl, openrlhf) makes of files, under its own limit of tokens or `max_length`.
    Raises MissingPart where it is not installed, InputError where it refuses a file. Without a tokenizer one of bytes
    is made up."""
    if trainer not in TRAINERS:
        raise ValueError(f"trainer is '{trainer}', allowed: {', '.join(TRAINERS)}")
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(2, "No such file", str(file))
    try:
        code = import_module(f"{__package__}.verify_{trainer}")
    except ImportError as error:
        raise MissingPart(f"{trainer} cannot be used ({error}): pip install {trainer}") from None
    found: list[Verified] = []
    with redirect_stdout(sys.stderr):  # trainers print what they do
        for file in files:
            try:
                found += code.verify_file(file, tokenizer, max_length)
            except InputError:
                raise
            except Exception as error:  # whatever a row sets off in there
                raise InputError(f"{file}: {trainer} refuses it: {error}") from error
    return found


def tokenizer_called(name: str | None) -> Any:
    """The tokenizer with this name or folder. None = a byte tokenizer."""
    import transformers

    return byte_tokenizer() if name is None else transformers.AutoTokenizer.from_pretrained(name)


@contextmanager
def own_cache() -> Iterator[str]:
    """The datasets library keeps what it makes of files in this folder, and nothing of it stays."""
    import datasets

    usual = datasets.config.HF_DATASETS_CACHE
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        datasets.config.HF_DATASETS_CACHE = Path(folder)
        try:
            yield folder
        finally:
            datasets.config.HF_DATASETS_CACHE = usual


def load(file: Path) -> Any:
    """A file as the datasets library reads it."""
    import datasets

    kind = "parquet" if file.suffix == ".parquet" else "json"
    with own_cache():
        try:
            return datasets.load_dataset(kind, data_files=str(file), split="train", keep_in_memory=True)
        except datasets.exceptions.DatasetGenerationError as error:
            raise InputError(f"{file}: the datasets library cannot read it ({error.__cause__ or error})") from None


def no_taker(file: Path, trainer: str, columns: Sequence[str]) -> InputError:
    return InputError(f"{file}: {trainer} takes no file of the columns {', '.join(sorted(columns))}")
