"""The folder of a training: its plan, its checkpoints, whole or absent, while it runs, and its files at the end."""

import json
import os
import re
import shutil
import textwrap
from pathlib import Path
from typing import Any

from ..errors import InputError, first_line
from ..io.files import read_object, write_text
from .stage import Trained

PLAN = "plan.json"
RECORD = "training.json"
"""Stands in the folder of a whole training only."""
METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
PART = "checkpoint.part"
NAME = re.compile(r"checkpoint-(\d+)")


def record_of(folder: Path) -> dict[str, Any]:
    """What a finished training says of itself, {} where there is none. Raises InputError."""
    return read_object(folder / RECORD) if (folder / RECORD).is_file() else {}


def need_prompts(model: Path | None, now: str, where: str) -> None:
    """Raises InputError where the model in this folder has learned other prompts than those of now."""
    learned = record_of(model).get("prompts", now) if model is not None else now
    if learned != now:
        raise InputError(
            f"{where}: the model {model} has learned the prompts '{learned}', not '{now}' ('': built-in ones)"
        )


def recognised(out: Path) -> Trained:
    """A training that had been finished."""
    record = record_of(out)
    return Trained(out, record["steps"], record["loss"], record["eval_loss"], recognised=True)


def begin(folder: Path, plan: dict[str, Any], *, overwrite: bool, sampled: Path | None = None) -> bool:
    """Notes what is to be trained. Returns whether that has been done already. `sampled` is the folder of a run of
    samples: another plan is refused beside it, and `overwrite` removes it with the model in its place.

    Raises InputError that names what differs where the folder holds another training.
    """
    file = folder / PLAN
    for name, what in (("run.json", "a run"), ("config.json", "a model that was not trained here")):
        if (folder / name).is_file() and not file.is_file():
            raise InputError(f"option 'out': {folder} holds {what} ({name}): name another folder")
    plan = json.loads(json.dumps(plan))
    before = read_object(file) if file.is_file() and not overwrite else {}
    if before == plan:
        return (folder / RECORD).is_file()
    begun = sampled is not None and sampled.is_dir()
    if before and (begun or (folder / RECORD).is_file() or newest(folder / CHECKPOINTS) is not None):
        name = next(name for name in plan | before if plan.get(name) != before.get(name))
        raise InputError(
            f"{folder}: holds a training with another '{name}' ({before.get(name)}, not {plan.get(name)}); "
            "name another folder, or --overwrite"
        )
    for name in (RECORD, METRICS):
        (folder / name).unlink(missing_ok=True)
    for left in (folder / CHECKPOINTS, *((sampled, folder / "model") if sampled and overwrite else ())):
        shutil.rmtree(left, ignore_errors=True)
    write_text(file, json_text(plan))
    return False


def json_text(value: dict[str, Any]) -> str:
    """For files that people read too."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def card(record: dict[str, Any]) -> str:
    """The model card as Markdown: the content of training.json, indented, so that no text in it can leave its place."""
    said = f"# A model trained by `espalier train {record['stage']}`\n\n"
    if record["simulated"]:
        said += "**Simulated data:** no real language model wrote the rows. The model learned a generated world.\n\n"
    said += "What it was trained on, its figures, its options and versions:\n\n"
    return said + textwrap.indent(json_text(record), "    ")


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
