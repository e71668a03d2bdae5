"""The files of a folder of transformers."""

import hashlib
from pathlib import Path
from typing import Any

from ..errors import InputError, first_line
from ..io.files import opened

WEIGHTS = "*.safetensors"
FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def check_folder(folder: Path) -> None:
    """Raises InputError that names what a folder of a model lacks."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: is no folder of a model (config.json is missing)")
    if not weights(folder):
        raise InputError(f"{folder}: there are no weights of a model in {WEIGHTS} (a .bin may hold programs)")
    if not any(folder.glob("tokenizer*")):
        raise InputError(f"{folder}: there is no tokenizer (tokenizer.json or tokenizer_config.json)")


def weights(folder: Path) -> list[Path]:
    """The files of weights."""
    return sorted(folder.glob(WEIGHTS))


def folder_hash(folder: Path) -> str:
    """32 hexadecimal digits of the files that decide the model's answers."""
    digest = hashlib.blake2b(digest_size=16)
    for path in [*(folder / name for name in FILES), *weights(folder)]:
        if path.is_file():
            digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
            with opened(path) as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


def loaded(kind: Any, folder: Path, **more: Any) -> Any:
    """What a class of transformers makes of a folder. Raises InputError for a damaged one."""
    try:
        more |= {"use_safetensors": True} if "Model" in kind.__name__ else {}  # other weights are pickled
        return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **more)
    except Exception as error:  # those of safetensors and tokenizers have no class in common
        raise InputError(f"{folder}: the model cannot be loaded ({kind.__name__}: {first_line(error)})") from None
