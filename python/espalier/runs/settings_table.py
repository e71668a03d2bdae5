"""The table of a run's settings, as the compiled part has it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .. import _core


@dataclass(frozen=True)
class Setting:
    """One setting of a run."""

    group: str
    name: str
    """Python's keyword."""
    type: str
    """str, bool, float, int, list (of str), models ({purpose: (model, name)}) or options ({option: value})."""
    default: Any
    option: str
    """The command's option without its dashes, '' = none. "OPTION?KEY": KEY in the address that OPTION takes."""
    value: str
    """What stands for its value in help."""
    record: str
    """Its name in run.json, '' = an execution option, which changes no tree."""
    help: str
    choices: tuple[str, ...]
    """All allowed values, () = anything of its type."""

    @property
    def shown_default(self) -> str:
        """The default for people, '' where the setting is off or empty by default."""
        return str(self.default) if self.default and self.type != "bool" else ""


SETTINGS = {
    row[1]: Setting(*row[:3], json.loads(row[3]), *row[4:8], tuple(row[8].split(", ")) if row[8] else ())
    for row in _core.settings()
}
"""Every setting by its keyword, group by group."""
PARTS: dict[str, dict[str, Setting]] = {
    base.name: parts
    for base in SETTINGS.values()
    if (
        parts := {
            one.option.partition("?")[2]: one for one in SETTINGS.values() if one.option.startswith(f"{base.option}?")
        }
    )
}
"""The settings that an address may name, by the setting that holds it and their keys in it."""


def listed() -> str:
    """What each setting is that a command line can name, with its default in brackets."""
    lines = []
    for one in SETTINGS.values():
        default = str(one.default) if one.type == "bool" else one.shown_default
        if one.option:
            lines.append(f"- {one.name}: {one.help}{f' ({default})' if default else ''}.")
    return "\n".join(lines)
