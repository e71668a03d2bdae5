"""A GGUF file as a language model, and as an encoder."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from .. import _core
from .engine import SLOTS, LlamaEngine, key_variable
from .sources import Source

T = TypeVar("T")
PATIENCE = 86_400.0
"""Seconds that a request may take: nobody is at the other end but this process."""


class Held:
    """A part whose model is in this process. Its memory is freed at the end of a `with` block, or by `close`."""

    engine: LlamaEngine

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.engine.close()


class LlamaCpp(_core.OpenAi, Held):
    """A model of llama.cpp in this process, from a GGUF file: `model=LlamaCpp("model.gguf")`.

    It answers up to `slots` prompts side by side (0 = 8). `context` is the number of tokens of each, prompt and reply
    together (0 = 4096, or what the model was trained on if that is less). `threads` defaults to half of the cores
    that the process may use. The memory is freed at the end of a `with` block, by `close`, or with the process.

    Raises InputError for a file that is no GGUF or of an architecture that llama.cpp does not know, Error for too
    little memory, MissingPart without xllamacpp.
    """

    takes_grammar = True

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        name: str = "",
        slots: int = 0,
        context: int = 0,
        threads: int = 0,
        api: str = "chat",
        extra_body: str = "",
    ) -> None:
        self.engine = LlamaEngine(file, slots=slots, context=context, threads=threads)
        self.name, self.revision = name or self.engine.name, model_revision(self.engine.revision, context)
        super().__init__(
            self.engine.url, self.name, revision=self.revision, api=api, extra_body=extra_body, **client(self.engine)
        )
        self.engine.load()


class LlamaCppEncoder(_core.HttpEncoder, Held):
    """An encoder of llama.cpp in this process, from a GGUF file: `encoder=LlamaCppEncoder("e5.gguf", profile="e5")`.

    `pooling` (mean, cls or last) makes one vector of a text's tokens. Without it the file's header says how. `profile`
    and `cut` are those of `HttpEncoder`. It encodes up to `slots` texts side by side (0 = 8), each of up to `context`
    tokens (0 = 4096, or what the model was trained on if that is less). `threads` and `close` are as in `LlamaCpp`.

    Raises InputError for a file that is no GGUF or gives no embeddings, Error for too little memory, MissingPart
    without xllamacpp.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        name: str = "",
        pooling: str = "",
        profile: str = "none",
        slots: int = 0,
        context: int = 0,
        threads: int = 0,
    ) -> None:
        self.engine = LlamaEngine(file, slots=slots, context=context, threads=threads, encodes=True, pooling=pooling)
        named = encoder_name(name or self.engine.name, self.engine.revision, pooling)
        super().__init__(self.engine.url, named, profile=profile, **client(self.engine, encodes=True))
        self.engine.load()


def model_revision(revision: str, context: int) -> str:
    """What a model of this process is known by beside its name: all that decides its replies."""
    return revision + (f"?context={context}" if context else "")


def encoder_name(name: str, revision: str, pooling: str) -> str:
    """What an encoder of this process is called in results: all that decides its vectors beside the profile."""
    return f"{name}@{revision}" + (f"?pooling={pooling}" if pooling else "")


def _options(source: Source) -> dict[str, Any]:
    """What stands behind the file of an encoder in a setting."""
    numbers = {option: source.number(option) for option in ("slots", "context", "threads")}
    return {**numbers, "pooling": source.options.get("pooling", "")}


def opened_encoder(source: Source, name: str, profile: str) -> LlamaCppEncoder:
    """The encoder that a setting names, loaded."""
    return LlamaCppEncoder(source.path, name=name, profile=profile, **_options(source))


def model_engine(source: Source, in_flight: int) -> LlamaEngine:
    """The engine of a language model that a setting names. Nothing is loaded."""
    slots = source.number("slots") or min(in_flight or SLOTS, SLOTS)
    return LlamaEngine(source.path, slots=slots, context=source.number("context"), threads=source.number("threads"))


def encoder_engine(source: Source) -> LlamaEngine:
    """The engine of such an encoder. Nothing is loaded."""
    return LlamaEngine(source.path, encodes=True, **_options(source))


def client(engine: LlamaEngine, *, encodes: bool = False) -> dict[str, Any]:
    """How our client reaches a server. Twice its slots are sent, and a text that is too long to encode fails alone."""
    own = {"llamacpp": True, "batch": 1, "attempts": 1} if encodes else {"server": "llamacpp", "in_process": True}
    patience = dict.fromkeys(("timeout", "deadline") if encodes else ("timeout", "deadline", "wait"), PATIENCE)
    return {**own, **patience, "api_key_env": key_variable(), "in_flight": 2 * engine.slots}
