"""improve.json: what the rounds in a folder were begun with."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from ..io.files import read_object, write_text
from .figures import json_text
from .options import ImproveOptions

PLAN = "improve.json"


def begin(out: Path, options: ImproveOptions) -> None:
    """Writes improve.json. Raises InputError that names what differs where the folder was begun with other options."""
    wanted = options.resolved
    before = read_object(out / PLAN) if (out / PLAN).is_file() and not options.overwrite else wanted
    for name in wanted | before:
        if name != "rounds" and wanted.get(name) != before.get(name):
            raise InputError(
                f"{out}: was begun with another '{name}' ({before.get(name)}, not {wanted.get(name)}); "
                "name another folder, or --overwrite"
            )
    write_text(out / PLAN, json_text(wanted))
