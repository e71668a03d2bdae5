"""Writes python/espalier/methods.py: a typed class for each of the five methods, from the table of their options.

Run it after a change of an option, with the package installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from espalier.search.method import keywords_of as method_keywords

TARGET = Path(__file__).resolve().parent.parent / "python/espalier/methods.py"

CLASSES = {
    "decex": ("DecExRag", "DecEx-RAG: pruned search over decisions and their executions."),
    "decouple": ("DecoupleRag", "DecoupleRAG: tree search with a plan value and a search value for each step."),
    "airrag": ("AirRag", "AirRAG: tree search over five reasoning actions."),
    "prorag": ("ProRag", "ProRAG: PUCT over steps, with discounted outcomes."),
    "reasonrag": ("ReasonRag", "ReasonRAG: tree search with shortest-path rewards."),
}

HEAD = '''"""A typed class for each of the five methods, from the table of their options by tools/make_methods.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from .protocols import EncoderLike, LanguageModelLike, PruningLike, RewardLike
from .search.method import TypedMethod

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [{names}]

{aliases}


class Options(TypedDict, total=False):
    """Keywords of all five."""

{common}
'''

CLASS = '''

class {type}Options(Options, total=False):
{own}


class {type}(TypedMethod):
    """{summary}"""

    _name = "{name}"

    def __init__(self, **options: Unpack[{type}Options]) -> None:
        super().__init__(**options)
'''

PARTS = {
    "set": "Mapping[str, object]",
    "preset": 'Literal["paper", "code"]',
    "answer": "bool",
    "prompts": "str",
    "models": "Mapping[str, LanguageModelLike]",
    "encoder": "EncoderLike",
    "score": "EncoderLike",
}


LONG = 90
"""Characters of a type that gets a name, that of its option."""
aliases: dict[str, str] = {}


def type_of(row: list[str]) -> str:
    option, _, allowed, _, kind = row
    if kind == "choice":
        kind = f"Literal[{', '.join(json.dumps(word) for word in allowed.split(', '))}]"
        if len(kind) > LONG:
            aliases[option.title()] = kind
            kind = option.title()
    return {"reward": f"{kind} | RewardLike", "prune": "PruningLike"}.get(option, kind)


def keywords_of(method: str) -> dict[str, str]:
    """The keywords with their types."""
    rows, more = method_keywords(method)
    return {row[0]: type_of(row) for row in rows} | {name: PARTS[name] for name in more}


def fields(keywords: dict[str, str]) -> str:
    return "\n".join(f"    {name}: {kind} | None" for name, kind in keywords.items())


def text() -> str:
    every = {method: keywords_of(method) for method in CLASSES}
    common = dict(set.intersection(*(set(keywords.items()) for keywords in every.values())))
    common = {name: kind for name, kind in every["decex"].items() if name in common}
    names = ", ".join(f'"{name}"' for name in sorted(name for name, _ in CLASSES.values()))
    named = "\n".join(f"{name}: TypeAlias = {kind}" for name, kind in aliases.items())
    made = HEAD.format(names=names, aliases=named, common=fields(common))
    for method, (name, summary) in CLASSES.items():
        own = {keyword: kind for keyword, kind in every[method].items() if keyword not in common}
        made += CLASS.format(type=name, own=fields(own), summary=summary, name=method)
    return made


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", TARGET], check=True)
