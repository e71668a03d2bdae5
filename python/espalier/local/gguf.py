"""The header of a GGUF file, read before llama.cpp loads it."""

import hashlib
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import InputError
from ..io.files import opened

VERSIONS = (2, 3)
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""How numbers are stored, by their type in the file."""
STRING, ARRAY = 8, 9
PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
"""The name of one of the files of a model that was split: what is before, its number, and how many there are."""
LONGEST = 1 << 24  # bytes of a value, values of a list
RANGES = {
    "general.alignment": (8, 1 << 16),
    "context_length": (16, 1 << 30),
    "block_count": (1, 512),
    "embedding_length": (1, 1 << 20),
    **{f"attention.{name}": (0, 1 << 16) for name in ("head_count", "head_count_kv", "key_length", "value_length")},
    **dict.fromkeys(("expert_count", "expert_used_count", "nextn_predict_layers"), (0, 512)),
    **dict.fromkeys(("attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon"), (0, 1)),
}
"""What numbers may be, by field without the architecture. Beyond this llama.cpp ends the process."""
CACHE_BYTES = 2
"""Bytes of a number in the cache of keys and values."""


@dataclass(frozen=True)
class Header:
    """What the header of a model's file says."""

    architecture: str
    fields: dict[str, Any]
    """Its single values, and lists of whole numbers, by name."""
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
        each = self.number("attention.head_count_kv") or heads
        layers = sum(kept) if isinstance(kept, list) else each * self.number("block_count")
        return CACHE_BYTES * both * int(layers)

    def check(self) -> None:
        """Raises ValueError for a number out of its range."""
        for name, value in self.fields.items():
            field = name.removeprefix(f"{self.architecture}.")
            low, high = RANGES.get(field, (-(1 << 48), 1 << 48))
            lists = isinstance(value, list) and (field not in RANGES or "head_count" in field)  # of each layer
            for one in value if lists else [value]:
                if not (low <= one <= high if isinstance(one, (int, float)) else field not in RANGES):
                    raise ValueError(f"field '{name}' is {str(one)[:40]}, allowed: a number from {low:,} to {high:,}")
        if (alignment := int(self.fields.get("general.alignment", 32))) & (alignment - 1):
            raise ValueError(f"field 'general.alignment' is {alignment}, allowed: a power of two")
        experts, used = self.number("expert_count"), self.number("expert_used_count")
        if used > experts or (used == 0) != (experts == 0):
            raise ValueError(f"the header says that {used} of {experts} experts are used")
        if self.fields.get("tokenizer.ggml.model") == "none":
            raise ValueError("the header has no tokenizer")


def _take(file: BinaryIO, length: int) -> bytes:
    taken = file.read(length) if length <= LONGEST else b""
    if len(taken) < length:
        raise ValueError("the file ends inside its header, or a value there has more than 16 MiB")
    return taken


def _number(file: BinaryIO, code: str) -> Any:
    return struct.unpack(f"<{code}", _take(file, struct.calcsize(code)))[0]


def _value(file: BinaryIO) -> Any:
    """A value behind its type. None for a list of texts or fractions, which sizes nothing."""
    kind = _number(file, "I")
    if kind == STRING:
        return _take(file, _number(file, "Q")).decode(errors="replace")
    if kind in NUMBERS:
        return _number(file, NUMBERS[kind])
    inner, length = (_number(file, "I"), _number(file, "Q")) if kind == ARRAY else (kind, 0)
    if inner in NUMBERS:
        numbers = _take(file, length * struct.calcsize(NUMBERS[inner]))
        return None if NUMBERS[inner] in "fd" else list(struct.unpack(f"<{length}{NUMBERS[inner]}", numbers))
    if kind != ARRAY or inner != STRING or length > LONGEST:
        raise ValueError(f"the header has {length:,} values of the unknown type {inner}")
    for _ in range(length):
        _take(file, int.from_bytes(_take(file, 8), "little"))
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


def read_header(file: str | Path) -> Header:
    """Reads the header. Raises InputError that names the file: there is none, it is no GGUF, its version is unknown, it
    is cut off, a number is out of its range, or a part is missing."""
    path = Path(file)
    files = parts(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file of a model")
    with opened(path) as begun:
        if begun.read(4) != b"GGUF":
            raise InputError(f"{path}: is no GGUF file (it does not begin with 'GGUF')")
        try:
            if (version := _number(begun, "I")) not in VERSIONS:
                raise ValueError(f"is a GGUF file of version {version}; readable are {VERSIONS[0]} and {VERSIONS[1]}")
            _take(begun, 8)  # number of tensors
            if (count := _number(begun, "Q")) > 1 << 16:
                raise ValueError(f"the header has {count:,} fields")
            names = (_take(begun, _number(begun, "Q")).decode(errors="replace") for _ in range(count))
            fields = {name: _value(begun) for name in names}
            architecture = fields.get("general.architecture")
            if not isinstance(architecture, str):
                raise ValueError("the header does not name the model's architecture (general.architecture)")
            header = Header(architecture, fields, sum(part.stat().st_size for part in files))
            header.check()
        except (ValueError, OverflowError) as error:
            raise InputError(f"{path}: {error}") from None
    return header


def content_hash(file: str | Path) -> str:
    """32 hexadecimal digits of the content of the file, or of all parts of one that was split."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts(Path(file)):
        with opened(part) as one:
            while block := one.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
