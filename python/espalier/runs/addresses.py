"""What an address in a setting says beside where something is: `URL?name=NAME&profile=NAME`, as `gguf:FILE?slots=N`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from .settings_table import PARTS


def split(setting: str, address: str) -> tuple[str, dict[str, str]]:
    """The address that is asked, and the texts of the settings that it names. Other keys of its query stay in it."""
    base, _, query = address.partition("?")
    known = PARTS.get(setting, {})
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    rest = "&".join("".join(pair) for pair in pairs if pair[0] not in known)
    return base + (f"?{rest}" if rest else ""), {
        known[key].name: unquote(text) for key, _, text in pairs if key in known
    }


def joined(setting: str, address: str, shown: str) -> str:
    """`shown`, an address without its query, with what `address` names of settings."""
    pairs = (pair for pair in address.partition("?")[2].split("&") if pair.partition("=")[0] in PARTS.get(setting, {}))
    return "?".join(filter(None, (shown, "&".join(pairs))))


def addressed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with bare addresses, beside what these named. Raises ValueError for what is not allowed or said
    twice."""
    plain = dict(settings)
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
