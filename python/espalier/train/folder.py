"""The folder of a training: its plan, its checkpoints while it runs, and its files at the end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..io.files import read_object, write_text
from .checkpoints import newest
from .trainer import METRICS

PLAN = "plan.json"
RECORD = "training.json"
"""Stands in the folder of a whole training only."""
CHECKPOINTS = "checkpoints"


def record_of(folder: Path) -> dict[str, Any]:
    """What a finished training says of itself, {} where there is none. Raises InputError."""
    return read_object(folder / RECORD) if (folder / RECORD).is_file() else {}


def begin(folder: Path, plan: dict[str, Any], *, overwrite: bool, rounds: Sequence[Path] = ()) -> bool:
    """Notes what is to be trained. Returns whether that has been done already. `rounds` are the folders of a training
    in rounds: another plan is refused beside them, and `overwrite` removes them.

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
    if before and (rounds or (folder / RECORD).is_file() or newest(folder / CHECKPOINTS) is not None):
        name = next(name for name in plan | before if plan.get(name) != before.get(name))
        raise InputError(
            f"{folder}: holds a training with another '{name}' ({before.get(name)}, not {plan.get(name)}); "
            "name another folder, or --overwrite"
        )
    for name in (RECORD, METRICS):
        (folder / name).unlink(missing_ok=True)
    for left in (folder / CHECKPOINTS, *(rounds if overwrite else ())):
        shutil.rmtree(left, ignore_errors=True)
    write_text(file, json_text(plan))
    return False


def json_text(value: dict[str, Any]) -> str:
    """For files that people read too."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
