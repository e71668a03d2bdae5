"""Writes python/espalier/methods.py: a typed class for each of the five methods, from the table of their options.

Run it after a change of an option, with the package installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
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
    """{summary}"""

    _name = "{name}"

    def __init__(
        self,
        *,
{parameters}
    ) -> None:
        self._begin(locals())
'''


def options_of(method: str) -> list[list[str]]:
    """The options that are keywords: those of single purposes go into `sampling`."""
    return [row for row in _core.method_options(method) if not row[0].startswith("sampling.")]


def type_of(row: list[str]) -> str:
    _, _, allowed, _, kind = row
    return f"Literal[{', '.join(json.dumps(word) for word in allowed.split(', '))}]" if kind == "choice" else kind


def class_of(method: str) -> str:
    name, summary = CLASSES[method]
    rows = options_of(method)
    parameters = []
    for row in rows:
        more = " | RewardLike" if row[0] == "reward" else ""
        parameters.append(f"        {row[0]}: {type_of(row)}{more} | None = None,")
    parameters += [
        "        sampling: Mapping[str, Mapping[str, float]] | None = None,",
        '        preset: Literal["paper", "code"] | None = None,',
        "        answer: bool = False,",
        '        prompts: str = "",',
        "        models: Mapping[str, LanguageModelLike] | None = None,",
        "        encoder: EncoderLike | None = None,",
    ]
    if "values" in {row[0] for row in rows}:
        parameters.append("        score: EncoderLike | None = None,")
    return CLASS.format(type=name, summary=summary, name=method, parameters="\n".join(parameters))


def text() -> str:
    names = ", ".join(f'"{name}"' for name in sorted(name for name, _ in CLASSES.values()))
    return HEAD.format(names=names) + "".join(map(class_of, CLASSES))


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", TARGET], check=True)
