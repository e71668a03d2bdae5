"""Files in LLaMA-Factory's loader, through the entries of the dataset_info.json beside them."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
from llamafactory.hparams import get_train_args

from ..errors import InputError
from ..io.files import read_object
from .verify import Verified, load, own_cache, tokenizer_called


def entry_of(file: Path) -> tuple[str, dict[str, Any]]:
    """The name and the entry under which dataset_info.json has a file."""
    known = file.with_name("dataset_info.json")
    for name, entry in read_object(known).items() if known.is_file() else ():
        if isinstance(entry, dict) and entry.get("file_name") == file.name:
            return name, entry
    raise InputError(f"{file}: {known} has no entry for it, without which llamafactory reads no file")


def prepared(file: Path, tokenizer: Any, folder: str, **options: Any) -> Any:
    """The rows as its trainers get them, with the defaults of its command line. Its files stay in `folder`."""
    name, entry = entry_of(file)
    stage = "rm" if entry.get("ranking") else "sft"
    named = {"stage": stage, "dataset": name, "dataset_dir": str(file.parent), "model_name_or_path": "none"}
    quiet = {"do_train": True, "output_dir": folder, "cache_dir": folder, "use_cpu": True, "report_to": "none"}
    model, data, training, *_ = get_train_args({**named, **quiet, **options})
    template = get_template_and_fix_tokenizer(tokenizer, data)
    return get_dataset(template, model, data, training, stage=stage, tokenizer=tokenizer)["train_dataset"]


def verify_file(file: Path, tokenizer: str | None, max_length: int | None) -> list[Verified]:
    limit = {} if max_length is None else {"cutoff_len": max_length}
    with own_cache() as folder:
        taken = len(prepared(file, tokenizer_called(tokenizer), folder, **limit))
    return [Verified(file, f"get_dataset of llamafactory {version('llamafactory')}", len(load(file)), taken)]
