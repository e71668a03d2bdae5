"""The table of a run's settings, as the compiled part has it, and what an address in a setting says beside where
something is: `URL?name=NAME&profile=NAME`, as `gguf:FILE?slots=N`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import unquote

from .. import _core
from ..io.files import keep_piped


def split(setting: str, address: str) -> tuple[str, dict[str, str]]:
    """The address that is asked, and the texts of the settings that it names. Other keys of its query stay in it."""
    base, _, query = address.partition("?")
    known = PARTS.get(setting, {})
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    rest = "&".join("".join(pair) for pair in pairs if pair[0] not in known)
    named = {known[key].name: unquote(text) for key, _, text in pairs if key in known}
    return base + (f"?{rest}" if rest else ""), named


def joined(setting: str, address: str, shown: str) -> str:
    """`shown`, an address without its query, with what `address` names of settings."""
    pairs = (pair for pair in address.partition("?")[2].split("&") if pair.partition("=")[0] in PARTS.get(setting, {}))
    return "?".join(filter(None, (shown, "&".join(pairs))))


def addressed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with bare addresses, what these named, and kept pipes. Raises ValueError for what is bad."""
    plain = dict(settings)
    for name in ("questions", "corpus"):
        keep_piped(plain.get(name))
    for setting, parts in PARTS.items():
        address = plain.get(setting)
        if not isinstance(address, str):
            continue
        plain[setting], named = split(setting, address)
        for key, part in parts.items():
            if (text := named.get(part.name)) is None:
                continue
            if plain.get(part.name) is not None:
                raise ValueError(f"option '{part.name}' is given, and '{key}' in the address of '{setting}' too")
            if part.type == "int" and not text.isdecimal():
                raise ValueError(f"option '{setting}': {key}={text} is not allowed, must be a whole number")
            plain[part.name] = int(text) if part.type == "int" else text
    return plain


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
PARTS: dict[str, dict[str, Setting]] = {}
"""The settings that an address may name, by the setting that holds it and their keys in it."""
for base, one in product(SETTINGS.values(), repeat=2):
    if one.option.startswith(f"{base.option}?"):
        PARTS.setdefault(base.name, {})[one.option.partition("?")[2]] = one


def listed() -> str:
    """What each setting is that a command line can name, with its default in brackets."""
    lines = []
    for one in SETTINGS.values():
        default = str(one.default) if one.type == "bool" else one.shown_default
        if one.option:
            lines.append(f"- {one.name}: {one.help}{f' ({default})' if default else ''}.")
    return "\n".join(lines)
