"""Growing trees in memory, and any registered method by its name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import Parameter, Signature
from typing import Any, ClassVar

from .. import _core
from .._core import Question, Search, Tree
from ..bridge.mismatch import fault_of, unfit
from ..errors import PolicyError, whole
from ..gone import keywords, method_meant, naming, unknown
from ..local.llama_cpp import LlamaCpp
from ..local.sources import source_of
from ..local.transformers import Transformers
from ..protocols import EncoderLike, LanguageModelLike, PruningLike, RetrieverLike, RewardLike
from ..runs.given import check_tools
from ..runs.job import text_of
from .trees import Trees


@keywords
def run(
    search: Search,
    questions: Iterable[Question],
    *,
    model: LanguageModelLike | str,
    retriever: RetrieverLike | None = None,
    reward: RewardLike | None = None,
    seed: int = 1,
    in_flight: int = 64,
    open_questions: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    fingerprint: str | None = None,
    retriever_fingerprint: str | None = None,
) -> Trees:
    """Grows a tree for each question and returns them in order. Their `readable` says how much could be read, and an
    UnreadableWarning that it was little.

    `model` is a function, a part, or a text as in `expand`: "simulated", "gguf:FILE" or "hf:FOLDER".

    Functions used as backends are called once for all waiting requests of all trees. `in_flight` is the largest batch
    of such a function, or the number of outstanding requests of a server. `open_questions` limits the live trees
    (default 4 `in_flight`, a LlamaCpp's slots). Neither changes a tree. `reward` replaces the search's own.

    With a `journal` the responses are kept in that file and are not requested again. The model then needs an identity,
    which servers have and functions get by `fingerprint`. A retriever is journaled if it is a server or has a
    `retriever_fingerprint`.

    Raises BackendError if a backend failed for good, and PolicyError. Their `trees` holds those that were finished.
    """
    file = "" if journal is None else os.fspath(journal)
    asked = list(questions) if isinstance(questions, Iterable) and not isinstance(questions, str) else questions
    if fault := fault_of_run(search, asked, model=model, retriever=retriever, reward=reward):
        raise TypeError(fault)
    with named(model, asked) as part:
        check_tools(json.loads(search.options), part)
        session = _core.open_session(
            search, asked, part, retriever, reward, seed, in_flight, file, fingerprint, retriever_fingerprint
        )
        try:
            most = part.engine.slots if isinstance(part, LlamaCpp) else 4 * in_flight
            session.run(most if open_questions is None else open_questions)
            return Trees(whole(session.trees, session.errors))
        except PolicyError as error:
            error.trees = list(session.trees)
            raise
        finally:
            del session  # closes the journal; a traceback would keep it


@contextmanager
def named(model: LanguageModelLike | str, questions: Sequence[Question]) -> Iterator[LanguageModelLike]:
    """The model that a text names, loaded for the block. Any other is given as it is."""
    source = source_of(model)
    if isinstance(model, str) and source:
        options = {key: text if key == "device" else source.number(key) for key, text in source.options.items()}
        make: Any = LlamaCpp if source.kind == "gguf" else Transformers
        with make(source.path, **options) as part:
            yield part
    else:
        yield _core.Simulated(questions) if isinstance(model, str) else model


def fault_of_run(search: object, questions: object, **parts: object) -> str:
    """Why `run` does not take these, and what to write instead. "" = it does."""
    if isinstance(search, str):
        meant = method_meant(search)
        call = f"espalier.Method({meant!r})" if meant else "espalier.Method(NAME), `espalier methods` lists the names"
        return f"{unfit(search, 'Search', 'search')}: write {call}"
    if isinstance(search, type) and issubclass(search, Search):
        return f"search is the class {search.__name__}: add the parentheses, {search.__name__}()"
    if isinstance(questions, Search):
        return "the search comes first, then the questions: run(search, questions, model=...)"
    if not isinstance(search, Search):
        return unfit(search, "Search", "search")
    if isinstance(questions, Question):
        return "questions must be a list of Question, not one: write [question]"
    if isinstance(questions, (str, os.PathLike)):
        return f"questions must be a list of Question: write espalier.read_questions({os.fspath(questions)!r})"
    if fault := fault_of(questions, "Sequence[Question]", "questions"):
        how: dict[type, str] = {str: "text", dict: "row['question'], gold=row['golden_answers']"}
        write = how.get(type(next(iter(questions), None))) if isinstance(questions, list) else None
        return f"{fault}: write espalier.Question({write}) for each" if write else fault
    for role, part in parts.items():
        known = role == "model" and (part == "simulated" or source_of(part))
        if isinstance(part, (str, list)) and role in NAMED and not known:
            write = next(write for start, write in NAMED[role].items() if str(part).startswith(start))
            came = repr(part) if isinstance(part, str) else "a list"
            return f"{role} must be a function or a part, not {came}: write espalier.{write}"
        if isinstance(part, type) and part.__module__.startswith("espalier."):
            return f"{role} is the class {part.__name__}: make one, {part.__name__}(...)"
    missing = "model must be a function or a part, such as espalier.Simulated(questions)"
    return missing if parts.get("model") is None else ""


NAMED = {"model": {"": "OpenAi(url, name)"}, "retriever": {"http": "HttpRetriever(url)", "": "Bm25(passages)"}}
"""What to write for a text that names no part, by how it begins."""


class Method(_core.Method):
    """A search for `run`, such as `Method("prorag", set={"simulations": 50})`.

    `espalier options --method prorag` lists the options. With `answer` it is the method's inference form and sees no
    gold answer. Otherwise it grows trees as `expand` does. `models` gives other models to single purposes, such as a
    judge. `encoder` is used for choices by embedding. `values` maps texts to rows of two numbers, plan and search
    (decouple). Both are functions of a list of requests, or parts. `reward` is used in place of the one that the
    options name, and `prune` may be a policy of one's own. `prompts`: a folder that replaces built-in prompts.

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
        prune: PruningLike | None = None,
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
            "prune": prune,
            "prompts": os.fspath(prompts),
        }
        with naming():
            super().__init__(name, set=options, **rest)
        check_tools(json.loads(self.options), *(models or {}).values())
        self._made_from = name, {"set": set, **rest}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as what it was made from."""
        name, rest = self._made_from
        return partial(type(self), **rest), (name,)

    def rows(self, trees: Sequence[Tree]) -> dict[str, list[dict[str, Any]]]:
        """All training data of these trees, under this method's options: file name -> rows.

        The prompts in them are those of each tree. `sft_rows` and `dpo_pairs` give one file of these, for trees of any
        methods under their own options. Pairs stand here with their reverse, which `dpo_pairs` and the files of a run
        leave out. Raises ValueError for trees of another method.
        """
        if others := {tree.method for tree in trees}.intersection(_core.method_names()) - {self.method}:
            names = ", ".join(sorted(others))
            raise ValueError(f"these are trees of {names}: write sft_rows(trees) or dpo_pairs(trees)")
        files = self._lines(list(trees))
        return {file: [json.loads(line) for line in text.split("\n") if line] for file, text in files.items()}


COMMON = ("documents", "reward", "temperature", "max_tokens", "max_calls", "l_max", "match_budget", "shots")
"""Options of every method that are keywords of the typed classes. Others go into `set`."""
PARTS = ("preset", "answer", "prompts", "models", "encoder")
DOC = """{summary}

An option that is not given has the default, or the preset's value.

{options}
- set: other options, {{name: value}}: {others}, and sampling.PURPOSE.OPTION for the purposes {purposes}.
- preset: the values of the paper, or of its code.
- answer: the inference form, which sees no gold answer, in place of growing trees.
- prompts: a folder of prompts to use in place of the built-in ones.
- models: other models for single purposes, {{purpose: model}}.
- reward: also a function of a list of finished states, which gives a number for each.
"""
SERVICES = {
    "encoder": "embeds texts, for choices and values",
    "score": "maps texts to rows of two numbers, plan and search",
}


def keywords_of(method: str) -> tuple[list[list[str]], list[str]]:
    """The options of a method that are keywords, as rows of the table, and the other keywords."""
    shared = {row[0] for row in _core.method_options("direct")} - set(COMMON)
    rows = [row for row in _core.method_options(method) if row[0] not in shared and not row[0].startswith("sampling.")]
    options = {row[0] for row in rows}
    services = ["encoder"] * bool(options & {"choice", "values"}) + ["score"] * ("values" in options)
    return rows, ["set", "preset", "answer", "prompts", "models", *services]


class TypedMethod(Method):
    """The base of the classes in `espalier.methods`, whose options are keywords."""

    _name: str

    def __init_subclass__(cls) -> None:
        """The table of options says which keywords there are, and what each is."""
        if "_name" not in vars(cls):  # a user's own class
            return
        rows, more = keywords_of(cls._name)
        told = [f"- {row[0]}: {row[3]}. Allowed: {row[2]}. Default: {json.loads(row[1])}." for row in rows]
        told += [f"- {name}: {SERVICES[name]}." for name in more if name in SERVICES]
        names = [*(row[0] for row in rows), *more]
        others = [row[0] for row in _core.method_options(cls._name) if row[0] not in names]
        purposes = dict.fromkeys(name.split(".")[1] for name in others if name.startswith("sampling."))
        listed = ", ".join(name for name in others if not name.startswith("sampling."))
        cls.__doc__ = DOC.format(
            summary=cls.__doc__, options="\n".join(told), others=listed, purposes=", ".join(purposes)
        )
        cls.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in names])

    __signature__: ClassVar[Signature]

    def __init__(self, **options: Any) -> None:
        for name in options:
            if name in self.__signature__.parameters:
                continue
            if name in (row[0] for row in _core.method_options(self._name)):
                raise TypeError(f"{type(self).__name__}: '{name}' is no keyword, write set={{'{name}': ...}}")
            raise TypeError(f"{type(self).__name__}: {unknown(name, self.__signature__.parameters, where=self._name)}")
        given = {name: value for name, value in options.items() if value is not None}
        self._given = dict(given)
        parts = {name: given.pop(name) for name in PARTS if name in given}
        for name in ("reward", "prune"):
            if not isinstance(given.get(name, ""), str):
                parts[name] = given.pop(name)
        if "score" in given:
            parts["values"] = given.pop("score")
        given |= given.pop("set", {})
        super().__init__(self._name, set=given, **parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._given), ()
