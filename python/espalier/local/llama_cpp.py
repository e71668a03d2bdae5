"""A GGUF file as a language model."""

from __future__ import annotations

import os
from typing import Any

from .. import _core
from .engine import LlamaEngine, key_variable

PATIENCE = 86_400.0
"""Seconds that a request may take: nobody is at the other end but this process."""


class LlamaCpp(_core.OpenAi):
    """A model of llama.cpp in this process, from a GGUF file: `model=LlamaCpp("model.gguf")`.

    It answers up to `slots` prompts side by side (0 = 8). `context` is the number of tokens of each, prompt and reply
    together (0 = 4096, or what the model was trained on if that is less). `threads` defaults to all cores of the
    process. The memory is freed at the end of a `with` block, by `close`, or with the process.

    The model's identity in a journal is its name and the content of the file, wherever it is. Raises InputError for a
    file that is no GGUF or of an architecture that llama.cpp does not know, Error for too little memory, MissingPart
    without xllamacpp.
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
        self.name, self.revision = name or self.engine.name, self.engine.revision
        super().__init__(
            self.engine.url, self.name, revision=self.revision, api=api, extra_body=extra_body, **client(self.engine)
        )
        self.engine.load()

    def __enter__(self) -> LlamaCpp:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.engine.close()


def client(engine: LlamaEngine) -> dict[str, Any]:
    """How our client talks to such a server. Twice its slots are sent, so that none of them waits for us."""
    return {
        "server": "llamacpp",
        "api_key_env": key_variable(),
        "in_flight": 2 * engine.slots,
        "timeout": PATIENCE,
        "deadline": PATIENCE,
        "contact": 0.0,
    }
