"""What `gguf:FILE` and `hf:FOLDER` name."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .engine import pooling_of
from .folder import check_folder
from .gguf import read_header

KINDS = ("gguf", "hf")
OPTIONS = {"gguf": ("slots", "context", "threads"), "hf": ("device", "batch")}
ENCODER_OPTIONS = {"gguf": (*OPTIONS["gguf"], "pooling")}
_END = re.compile(r"\?(\w+=[^?&/]*(?:&\w+=[^?&/]*)*)$")


class Source(NamedTuple):
    """A model in this process, as a setting names it."""

    kind: str
    """gguf or hf."""
    path: Path
    options: dict[str, str]

    @property
    def name(self) -> str:
        """What the model is called in results."""
        return self.path.stem if self.kind == "gguf" else Path(os.path.realpath(self.path)).name

    @property
    def key(self) -> str:
        """Equal for the same model under the same options."""
        return f"{self.kind}:{os.path.realpath(self.path)}?{sorted(self.options.items())}"

    def check(self) -> None:
        """Raises InputError for a file or folder without a model."""
        if self.kind == "gguf":
            read_header(self.path)
        else:
            check_folder(self.path)

    def check_encoder(self) -> None:
        """Raises InputError for a file that is no model or gives no embeddings."""
        pooling_of(self.path, read_header(self.path), self.options.get("pooling", ""))

    def number(self, option: str) -> int:
        text = self.options.get(option, "0")
        if not text.isdecimal():
            raise ValueError(f"{self.kind}:{self.path}: {option}={text} is not allowed, must be a whole number")
        return int(text)


def source_of(text: object) -> Source | None:
    """`gguf:FILE[?slots=N&context=N&threads=N]` or `hf:FOLDER[?device=NAME&batch=N]`; None for anything else. Raises
    ValueError for an unknown option."""
    return _read(text, OPTIONS)


def encoder_source_of(text: object) -> Source | None:
    """The same for an encoder: `gguf:FILE[?pooling=NAME&slots=N&context=N&threads=N]`."""
    if isinstance(text, str) and text.startswith("hf:"):
        raise ValueError(f"setting 'encoder' cannot be {text}: in this process only a gguf:FILE can encode")
    return _read(text, ENCODER_OPTIONS)


def _read(text: object, allowed: Mapping[str, tuple[str, ...]]) -> Source | None:
    kind, colon, rest = text.partition(":") if isinstance(text, str) else ("", "", "")
    if not colon or kind not in KINDS:
        return None
    options: dict[str, str] = {}
    if end := _END.search(rest):
        rest = rest[: end.start()]
        options = dict(pair.split("=", 1) for pair in end[1].split("&"))
    for option in options:
        if option not in allowed[kind]:
            raise ValueError(f"{kind}:{rest}: unknown option '{option}', allowed: {', '.join(allowed[kind])}")
    if not rest:
        raise ValueError(f"'{text}' names no {'file' if kind == 'gguf' else 'folder'}")
    return Source(kind, Path(rest).expanduser(), options)  # a shell expands no ~ behind the colon
