"""What --model names: a folder, `gguf:FILE` or `micro:SIZE`."""

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..local.folder import check_folder, folder_hash, weights
from ..local.gguf import content_hash, read_header

MICRO = re.compile(r"(\d+(?:\.\d+)?)([KM])")


@dataclass(frozen=True)
class Source:
    """Where the weights begin."""

    kind: str
    """folder, gguf or micro."""
    name: str
    path: Path | None
    parameters: int = 0
    """The wanted size of a micro model."""

    @property
    def hash(self) -> str:
        """32 hexadecimal digits of what decides the first weights, '' for new ones."""
        if self.path is None:
            return ""
        return folder_hash(self.path) if self.kind == "folder" else content_hash(self.path)

    @property
    def least_parameters(self) -> int:
        """A parameter takes 4 bytes in a folder (2 where its configuration says 16 bits), at most 2 in a GGUF file."""
        if self.path is None:
            return self.parameters
        if self.kind == "gguf":
            return self.path.stat().st_size // 2
        config = (self.path / "config.json").read_text(encoding="utf-8")
        size = sum(file.stat().st_size for file in weights(self.path))
        return size // (2 if any(name in config for name in ('"bfloat16"', '"float16"')) else 4)


def source_of(model: str) -> Source:
    """What a model's name means. Raises InputError for a file or folder without a model, ValueError for a bad size."""
    kind, colon, rest = model.partition(":")
    if colon and kind == "micro":
        size = MICRO.fullmatch(rest)
        if size is None or not float(size[1]):
            raise ValueError(
                f"option 'model': {model} is not allowed, must be micro:SIZE with a size such as 1M or 500K"
            )
        return Source("micro", model, None, round(float(size[1]) * {"K": 1_000, "M": 1_000_000}[size[2]]))
    if colon and kind == "gguf":
        read_header(path := Path(rest))
        return Source("gguf", path.stem, path)
    path = Path(rest if colon and kind == "hf" else model)
    if not path.is_dir():
        raise InputError(f"{model}: there is no such folder of a model (gguf:FILE and micro:SIZE are the other forms)")
    check_folder(path)
    return Source("folder", path.resolve().name, path)
