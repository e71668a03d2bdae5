"""Writes python/espalier/methods.py: a typed class for each of the five methods, from the table of their options.

Run it after a change of an option, with the package installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

from espalier import _core

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
from typing import Literal

from .protocols import EncoderLike, LanguageModelLike, RewardLike
from .search.method import TypedMethod

__all__ = [{names}]
'''

CLASS = '''

class {type}(TypedMethod):
    """{summary}

    An option that is not given has the default, or the preset's value.

{listed}
    """

    _name = "{name}"

    def __init__(
        self,
        *,
{parameters}
    ) -> None:
        self._begin(locals())
'''

PARTS = {
    "reward": "a number for each finished state, by a name or by a function of a list of states",
    "sampling": "options of single purposes, {purpose: {option: value}}",
    "preset": "the values of the paper, or of its code",
    "answer": "the inference form, which sees no gold answer, in place of growing trees",
    "prompts": "a folder of prompts to use in place of the built-in ones",
    "models": "other models for single purposes, {purpose: model}",
    "encoder": "embeds texts, for choices by embedding",
    "score": "maps texts to rows of two numbers, plan and search",
}


def options_of(method: str) -> list[list[str]]:
    """The options that are keywords: those of single purposes go into `sampling`."""
    return [row for row in _core.method_options(method) if not row[0].startswith("sampling.")]


def type_of(row: list[str]) -> str:
    _, _, allowed, _, kind = row
    return f"Literal[{', '.join(json.dumps(word) for word in allowed.split(', '))}]" if kind == "choice" else kind


def class_of(method: str) -> str:
    name, summary = CLASSES[method]
    rows = options_of(method)
    purposes = {row[0].split(".")[1]: None for row in _core.method_options(method) if row[0].startswith("sampling.")}
    lines, parameters = [], []
    for row in rows:
        option, default, allowed, help, _ = row
        lines.append(f"{option}: {help}. Allowed: {allowed}. Default: {json.loads(default)}.")
        more = " | RewardLike" if option == "reward" else ""
        parameters.append(f"        {option}: {type_of(row)}{more} | None = None,")
    parameters += [
        "        sampling: Mapping[str, Mapping[str, float]] | None = None,",
        '        preset: Literal["paper", "code"] | None = None,',
        "        answer: bool = False,",
        '        prompts: str = "",',
        "        models: Mapping[str, LanguageModelLike] | None = None,",
        "        encoder: EncoderLike | None = None,",
    ]
    for part in ("sampling", "preset", "answer", "prompts", "models", "encoder"):
        lines.append(f"{part}: {PARTS[part]}.")
    if "values" in {row[0] for row in rows}:
        parameters.append("        score: EncoderLike | None = None,")
        lines.append(f"score: {PARTS['score']}.")
    wrapped = [textwrap.fill(line, 118, initial_indent="    - ", subsequent_indent="      ") for line in lines]
    wrapped.append("\n" + textwrap.fill(f"The purposes are {', '.join(purposes)}.", 118, initial_indent="    "))
    listed = "\n".join(wrapped)
    return CLASS.format(type=name, summary=summary, name=method, listed=listed, parameters="\n".join(parameters))


def text() -> str:
    names = ", ".join(f'"{name}"' for name in sorted(name for name, _ in CLASSES.values()))
    return HEAD.format(names=names) + "".join(map(class_of, CLASSES))


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", TARGET], check=True)
