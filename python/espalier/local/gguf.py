"""The header of a GGUF file, read before llama.cpp loads it."""

from __future__ import annotations

import hashlib
import mmap
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError

VERSIONS = (2, 3)
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""How numbers are stored, by their type in the file."""
STRING, ARRAY = 8, 9
PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
"""The name of one of the files of a model that was split: what is before, its number, and how many there are."""
CACHE_BYTES = 2
"""Bytes of a number in the cache of keys and values."""


@dataclass(frozen=True)
class Header:
    """What the header of a model's file says."""

    architecture: str
    fields: dict[str, Any]
    """Its single values, and lists of at most 4096 numbers, by name."""
    bytes: int
    """Size of the file, or of all parts of one that was split."""

    def number(self, name: str) -> int:
        """A field of the architecture as a whole number, 0 = absent."""
        value = self.fields.get(f"{self.architecture}.{name}", 0)
        return int(value) if isinstance(value, (int, float)) else 0

    @property
    def trained_context(self) -> int:
        """Tokens of the longest text that the model was trained on, 0 = unknown."""
        return self.number("context_length")

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values for one token, 0 = unknown."""
        heads = self.number("attention.head_count")
        width = self.number("embedding_length") // heads if heads else 0
        both = (self.number("attention.key_length") or width) + (self.number("attention.value_length") or width)
        kept = self.fields.get(f"{self.architecture}.attention.head_count_kv", heads)
        layers = kept if isinstance(kept, list) else [kept] * self.number("block_count")
        return CACHE_BYTES * both * sum(int(one) for one in layers)


class _Reader:
    """Reads little-endian values from the beginning of a file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 0

    def take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._data):
            raise ValueError("the file ends inside its header")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(code)))[0]

    def string(self) -> str:
        return self.take(self.number("Q")).decode(errors="replace")

    def value(self, kind: int) -> Any:
        """A value of this type. None for a list that is not needed."""
        if kind == STRING:
            return self.string()
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind != ARRAY:
            raise ValueError(f"the header has a value of the unknown type {kind}")
        inner, length = self.number("I"), self.number("Q")
        if inner in NUMBERS:
            code = NUMBERS[inner]
            data = self.take(length * struct.calcsize(code))
            return list(struct.unpack(f"<{length}{code}", data)) if length <= 4096 else None
        if inner != STRING:
            raise ValueError(f"the header has a list of the unknown type {inner}")
        for _ in range(length):
            self.take(self.number("Q"))
        return None


def parts(file: Path) -> list[Path]:
    """The files of a model: this one, or all parts of one that was split, named by its first. Raises InputError that
    names a part that is missing, or the first for a later one."""
    named = PART.fullmatch(file.name)
    if named is None:
        return [file]
    before, number, count = named.groups()
    found = [file.with_name(f"{before}-{one:05}-of-{count}.gguf") for one in range(1, int(count) + 1)]
    if int(number) != 1:
        raise InputError(f"{file}: is a later part of a model; name its first one, {found[0].name}")
    for part in found:
        if not part.is_file():
            raise InputError(f"{part}: there is no such part of a model, which has {int(count)}")
    return found


@contextmanager
def _opened(path: Path) -> Iterator[_Reader]:
    """A reader behind the version of a file. Raises InputError that names the file."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file of a model")
    with path.open("rb") as opened:
        begin = opened.read(8)
        if begin[:4] != b"GGUF":
            raise InputError(f"{path}: is no GGUF file (it does not begin with 'GGUF')")
        if len(begin) < 8:
            raise InputError(f"{path}: the file ends inside its header")
        if (version := struct.unpack("<I", begin[4:])[0]) not in VERSIONS:
            raise InputError(
                f"{path}: is a GGUF file of version {version}; readable are {VERSIONS[0]} and {VERSIONS[1]}"
            )
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            reader = _Reader(data)
            try:
                reader.take(8)
                yield reader
            except ValueError as error:
                raise InputError(f"{path}: {error}") from None


def read_header(file: str | Path) -> Header:
    """Reads the header. Raises InputError that names the file: there is none, it is no GGUF, its version is unknown, it
    is cut off, or a part is missing."""
    path = Path(file)
    files = parts(path)
    with _opened(path) as reader:
        fields = _fields(reader)
    architecture = fields.get("general.architecture")
    if not isinstance(architecture, str):
        raise InputError(f"{path}: the header does not name the model's architecture (general.architecture)")
    return Header(architecture, fields, sum(part.stat().st_size for part in files))


def _fields(reader: _Reader) -> dict[str, Any]:
    reader.take(8)  # number of tensors
    fields: dict[str, Any] = {}
    for _ in range(reader.number("Q")):
        name = reader.string()
        if name == "tokenizer.ggml.tokens":  # most values stand before, and these are long
            break
        fields[name] = reader.value(reader.number("I"))
    return fields


def content_hash(file: str | Path) -> str:
    """32 hexadecimal digits of the content of the file, or of all parts of one that was split."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts(Path(file)):
        with part.open("rb") as opened:
            while block := opened.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
