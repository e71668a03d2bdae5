"""Grammars as masks over the next tokens, by llguidance."""

from collections.abc import Sequence
from typing import Any

from ..errors import needed


class TaggedVocabulary:
    """A tokenizer as llguidance reads it. A protocol's marks may be tokens of their own (`<search>`), as in models that
    were trained on them. llguidance alone takes such tokens for special ones, which no text holds."""

    def __init__(self, tokenizer: Any, read: Any) -> None:
        added = tokenizer.added_tokens_decoder
        self._tokenizer = tokenizer
        self.eos_token_id = tokenizer.eos_token_id
        self.bos_token_id = tokenizer.bos_token_id
        self.special_token_ids = [number for number, token in added.items() if token.special]
        self.tokens = [
            added[number].content.encode() if number in added else read.decode_bytes([number])
            for number in range(len(tokenizer))
        ]

    def __call__(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


class Grammars:
    """The grammars of one tokenizer, each compiled once."""

    def __init__(self, tokenizer: Any, vocabulary: int) -> None:
        self._tokenizer, self._vocabulary = tokenizer, vocabulary
        self._read_tokens: Any = None
        self._compiled: dict[str, Any] = {}

    def matcher(self, grammar: str) -> Any:
        """A new interpreter of a grammar in GBNF, None for ''. Raises ValueError for text that is no grammar, and
        MissingPart without llguidance."""
        if not grammar:
            return None
        if grammar not in self._compiled:
            library = needed("llguidance", "a grammar")
            if self._read_tokens is None:
                from llguidance.hf import from_tokenizer

                tokens = TaggedVocabulary(self._tokenizer, from_tokenizer(self._tokenizer))
                self._read_tokens = library.LLTokenizer(library.TokenizerWrapper(tokens), n_vocab=self._vocabulary)
            matcher = library.LLMatcher(self._read_tokens, library.grammar_from("gbnf", grammar))
            if matcher.is_error():
                raise ValueError(f"llguidance cannot read the grammar: {matcher.get_error()}")
            self._compiled[grammar] = matcher
        return self._compiled[grammar].deep_copy()

    def mask(self, matchers: Sequence[Any], device: Any) -> Any:
        """Which tokens may follow in each row (None = all), or None where no row has a grammar."""
        if all(matcher is None for matcher in matchers):
            return None
        import numpy as np
        import torch

        words = np.full((len(matchers), (self._vocabulary + 31) // 32), -1, dtype=np.int32)
        for row, matcher in zip(words, matchers, strict=True):
            if matcher is not None:
                matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
        bits = torch.from_numpy(words).to(device)[:, :, None] >> torch.arange(32, dtype=torch.int32, device=device)
        return (bits & 1).bool().flatten(1)[:, : self._vocabulary]
