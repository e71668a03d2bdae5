"""Any registered method by its name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from typing import Any, ClassVar

from .. import _core
from .._core import Tree
from ..gone import naming, unknown
from ..protocols import EncoderLike, LanguageModelLike, RewardLike
from ..runs.job import text_of


class Method(_core.Method):
    """A search for `run`, such as `Method("prorag", set={"simulations": 50})`.

    `espalier options --method prorag` lists the options. With `answer` it is the method's inference form and sees no
    gold answer. Otherwise it grows trees as `expand` does. `models` gives other models to single purposes, such as a
    judge. `encoder` is used for choices by embedding. `values` maps texts to rows of two numbers, plan and search
    (decouple). Both are functions of a list of requests, or parts. `reward` is used in place of the one that the
    options name. `prompts` is a folder of prompts to use in place of the built-in ones.

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
        reward: RewardLike | None = None,
        prompts: str | os.PathLike[str] = "",
    ) -> None:
        options = [(option, text_of(value)) for option, value in (set or {}).items()]
        rest: dict[str, Any] = {
            "preset": preset,
            "answer": answer,
            "models": models or {},
            "encoder": encoder,
            "values": values,
            "reward": reward,
            "prompts": os.fspath(prompts),
        }
        with naming():
            super().__init__(name, set=options, **rest)
        self._made_from = name, {"set": set, **rest}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as what it was made from."""
        name, rest = self._made_from
        return partial(type(self), **rest), (name,)

    def rows(self, trees: Sequence[Tree]) -> dict[str, list[dict[str, Any]]]:
        """The training data that the method makes from its trees: file name -> rows."""
        files = self.lines(list(trees))
        return {file: [json.loads(line) for line in text.split("\n") if line] for file, text in files.items()}


PARTS = ("preset", "answer", "prompts", "models", "encoder")
DOC = """{summary}

An option that is not given has the default, or the preset's value.

{options}
- sampling: options of single purposes, {{purpose: {{option: value}}}}. The purposes are {purposes}.
- preset: the values of the paper, or of its code.
- answer: the inference form, which sees no gold answer, in place of growing trees.
- prompts: a folder of prompts to use in place of the built-in ones.
- models: other models for single purposes, {{purpose: model}}.
- encoder: embeds texts, for choices by embedding.
- reward: also a function of a list of finished states, which gives a number for each.
"""


class TypedMethod(Method):
    """The base of the classes in `espalier.methods`, whose options are keywords."""

    _name: str

    def __init_subclass__(cls) -> None:
        """The table of options says which keywords there are, and what each is."""
        if "_name" not in vars(cls):  # a user's own class
            return
        rows = _core.method_options(cls._name)
        own = [row for row in rows if not row[0].startswith("sampling.")]
        told = [f"- {row[0]}: {row[3]}. Allowed: {row[2]}. Default: {json.loads(row[1])}." for row in own]
        names = [*(row[0] for row in own), "sampling", *PARTS]
        if "values" in names:
            names.append("score")
            told.append("- score: maps texts to rows of two numbers, plan and search.")
        purposes = dict.fromkeys(row[0].split(".")[1] for row in rows if row[0].startswith("sampling."))
        cls.__doc__ = DOC.format(summary=cls.__doc__, options="\n".join(told), purposes=", ".join(purposes))
        cls.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in names])

    __signature__: ClassVar[Signature]

    def __init__(self, **options: Any) -> None:
        for name in options:
            if name not in self.__signature__.parameters:
                raise TypeError(f"{type(self).__name__}: {unknown(name, self.__signature__.parameters)}")
        given = {name: value for name, value in options.items() if value is not None}
        self._given = dict(given)
        parts = {name: given.pop(name) for name in PARTS if name in given}
        if not isinstance(given.get("reward", ""), str):
            parts["reward"] = given.pop("reward")
        if "score" in given:
            parts["values"] = given.pop("score")
        for purpose, chosen in given.pop("sampling", {}).items():
            given |= {f"sampling.{purpose}.{option}": value for option, value in chosen.items()}
        super().__init__(self._name, set=given, **parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._given), ()
