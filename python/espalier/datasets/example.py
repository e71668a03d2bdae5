"""A question as Espalier's own files have it, with the passages that came with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._core import Passage


@dataclass(frozen=True)
class Example:
    """What a row of a data set says."""

    id: str
    question: str
    answers: list[str]
    """The main answer first, then its aliases; empty where the split hides them."""
    metadata: dict[str, Any]
    passages: list[Passage] = field(default_factory=list)
    """The paragraphs that the published file gives with the question."""

    def to_dict(self) -> dict[str, Any]:
        """{"id", "question", "golden_answers", "metadata"}"""
        return {"id": self.id, "question": self.question, "golden_answers": self.answers, "metadata": self.metadata}


def distinct(texts: Iterable[str]) -> list[str]:
    """Each text once, in order, without the blank ones."""
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))


def known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that say something."""
    return {name: value for name, value in values.items() if value not in (None, [], "")}


def passage(title: str, text: str) -> Passage:
    """A passage whose id is 16 hexadecimal digits of its SHA-256. Runs of white space become one space."""
    title, text = " ".join(title.split()), " ".join(text.split())
    return Passage(hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16], title, text)
