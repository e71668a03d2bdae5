"""Writes what is said of a run's settings, from their table in include/espalier/run/settings_table.hpp:

python/espalier/runs/settings.py, the keywords of `expand` and `answer` with types, and docs/reference/settings.md.

Run it after a change of the table, with the package installed.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import groupby
from pathlib import Path

from espalier.runs.settings_table import SETTINGS, Setting

ROOT = Path(__file__).resolve().parent.parent
TYPES = {
    "bool": "bool",
    "float": "float",
    "int": "int",
    "list": "Sequence[str]",
    "models": "Mapping[str, str | LanguageModelLike | tuple[str | LanguageModelLike, str]]",
    "options": "Mapping[str, object]",
}
BACKENDS = {
    "model": "LanguageModelLike",
    "retriever": "RetrieverLike",
    "encoder": "EncoderLike",
    "values": "os.PathLike[str] | EncoderLike",
    "prune": "PruningLike",
}
"""Settings that take an object too, with its type."""

HEAD = '''"""The keywords of `expand` and `answer`, from the table of settings by tools/make_settings.py."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .settings_table import listed

if TYPE_CHECKING:
    from ..protocols import EncoderLike, LanguageModelLike, PruningLike, RetrieverLike


class RunSettings(TypedDict, total=False):
    """The settings of a run, each with its default in brackets. None keeps the default."""

'''

PAGE = """# Settings

These are the settings of a run. `espalier expand` and `espalier answer` take them as options, `esp.expand` and
`esp.answer` as keywords. `tools/make_settings.py` writes this page from the table that the command and Python read
(`espalier/run/settings_table.hpp`). In C++ they are the groups of `run::Settings`.

A setting with a name in `run.json` decides the trees. A run goes on only under the same values ([runs](../files.md)).
The others are execution options, which change no tree.

`…?KEY=` stands in the address that the option takes: `--encoder 'http://host:8001/v1?name=NAME&profile=e5'`, with `%26`
for an `&` in a value. Python's keywords take such addresses too, and have a keyword for each part.

From Python `model`, `models`, `retriever`, `encoder` and `values` also take a part or a function
([your own](../own.md#in-runs-with-a-folder)). The name beside it (`model_name` ...) is then its fingerprint.
"""
COLUMNS = "| keyword | option | default | in `run.json` | meaning |\n|---|---|---|---|---|\n"


def rows() -> dict[str, list[Setting]]:
    """The settings that a command line can name, by group."""
    named = [setting for setting in SETTINGS.values() if setting.option]
    return {group: list(found) for group, found in groupby(named, lambda setting: setting.group)}


def type_of(setting: Setting) -> str:
    if setting.choices:
        kind = f"Literal[{', '.join(map(repr, setting.choices))}]"
    elif setting.name == "extra_body":
        kind = "str | Mapping[str, Any]"
    elif setting.value in ("FILE", "DIR"):
        kind = "str | os.PathLike[str]"
    else:
        kind = TYPES.get(setting.type, setting.type)
    if setting.name in BACKENDS:
        kind += f" | {BACKENDS[setting.name]}"
    return f"{kind} | None"


def keywords() -> str:
    """The text of runs/settings.py."""
    fields = [f"    {setting.name}: {type_of(setting)}\n" for settings in rows().values() for setting in settings]
    return HEAD + "".join(fields) + '\n\nRunSettings.__doc__ = f"{RunSettings.__doc__}\\n\\n{listed()}"\n'


def page() -> str:
    """The text of docs/reference/settings.md."""
    text = PAGE
    for group, settings in rows().items():
        text += f"\n## {group.capitalize()}\n\n{COLUMNS}"
        for one in settings:
            value = f"{{{','.join(one.choices)}}}" if one.choices else one.value
            base, key = one.option.split("?") if "?" in one.option else (one.option, "")
            option = f"`--{base} …?{key}={value}`" if key else f"`--{base}{' ' if value else ''}{value}`"
            option = option.replace("|", "\\|")
            default = str(one.default) if one.type == "bool" else one.shown_default
            record = f"`{one.record}`" if one.record else ""
            text += f"| `{one.name}` | {option} | {default} | {record} | {one.help} |\n"
    return text


def formatted(text: str) -> str:
    """Python as ruff sets it."""
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", "settings.py", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def files() -> dict[Path, str]:
    """What is written, by file."""
    return {
        ROOT / "python/espalier/runs/settings.py": formatted(keywords()),
        ROOT / "docs/reference/settings.md": page(),
    }


if __name__ == "__main__":
    for file, text in files().items():
        file.write_text(text, encoding="utf-8")
