"""Any registered method by its name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._core import Tree
from ._job import text_of
from .protocols import EncoderLike, LanguageModelLike


class Method(_core.Method):
    """A search for `run`, such as `Method("prorag", set={"simulations": 50})`.

    `espalier options --method prorag` lists the options. With `answer` it is the method's inference form and sees no
    gold answer; else it grows trees as `expand` does. `models` names others for single purposes, such as a judge.
    `encoder` serves choices by embedding, `values` maps texts to rows of two numbers, plan and search (decouple);
    both are functions of a list of requests, or parts.

    Raises ValueError that names an unknown method, option or purpose, or a value that is not allowed.
    """

    def __init__(
        self,
        name: str,
        *,
        preset: str | None = None,
        answer: bool = False,
        set: Mapping[str, object] | None = None,
        models: Mapping[str, LanguageModelLike] | None = None,
        encoder: EncoderLike | None = None,
        values: EncoderLike | None = None,
    ) -> None:
        options = [(option, text_of(value)) for option, value in (set or {}).items()]
        super().__init__(
            name,
            preset=preset,
            answer=answer,
            set=options,
            models=dict(models or {}),
            encoder=encoder,
            values=values,
        )

    def rows(self, trees: Sequence[Tree]) -> dict[str, list[dict[str, Any]]]:
        """The training data that the method harvests from its trees: file name -> rows."""
        files = self.lines(list(trees))
        return {file: [json.loads(line) for line in text.split("\n") if line] for file, text in files.items()}
