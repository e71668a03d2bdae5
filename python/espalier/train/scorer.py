"""A trained value model or process reward model that says numbers of texts, in batches."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from ..errors import InputError
from ..export.tokenizer import Tokenizer
from ..local.folder import loaded
from ..local.transformers import chosen_device
from .batches import LengthBatches, padded
from .value_heads import FILE, NAMES, hidden_states, load_heads
from .value_text import places, reward_ids, token_at

BATCH_TOKENS = 16384
Place = tuple[list[int], tuple[int, int]]
"""Tokens, and the places in them at which the two heads read."""


def without_oldest(text: str, ids: list[int], offsets: list[tuple[int, int]], longest: int) -> Place:
    """At most `longest` tokens of a state's text, and where its two values are read. The oldest steps are left out
    where it is longer. The question, the first line, stays. Raises ValueError for a question that fills all."""
    question = text.find("\n") + 1
    head = sum(begin < question for begin, _ in offsets)
    cut = max(0, len(ids) - longest)
    if cut and head >= longest:
        raise ValueError(f"a question is longer than {longest} tokens")
    plan, search = (max(head, at - cut) if cut else at for at in (token_at(offsets, place) for place in places(text)))
    return ids[:head] + ids[head + cut :], (plan, search)


class Scorer:
    """The model in a folder of `espalier train value` or `espalier train prm`. Raises InputError for another folder.

    Of a text, a value model says (plan, search), each in [-1, 1], and a reward model one number without bounds.
    """

    def __init__(self, folder: Path, device: str = "") -> None:
        self.rewards = not (folder / FILE).is_file()
        kind = transformers.AutoModelForSequenceClassification if self.rewards else transformers.AutoModelForCausalLM
        config = loaded(transformers.AutoConfig, folder)
        architectures = config.architectures or []
        if self.rewards and not any("SequenceClassification" in name for name in architectures):
            raise InputError(f"{folder}: neither {FILE} nor a reward model is in this folder")
        self._model: Any = loaded(kind, folder, dtype=torch.float32)
        tokenizer = loaded(transformers.AutoTokenizer, folder)
        if self.rewards and config.num_labels != 1:
            raise InputError(f"{folder}: the reward model gives {config.num_labels} numbers, not 1")
        self._tokenizer = Tokenizer.of(tokenizer, str(folder))
        self._heads = None if self.rewards else load_heads(folder, config.hidden_size)
        self._longest = int(getattr(config, "max_position_embeddings", 0) or 1 << 30)
        self._pad = tokenizer.pad_token_id or 0
        self._device = chosen_device(torch, device)
        self._model = self._model.to(self._device).eval()
        if self._heads is not None:
            self._heads = self._heads.to(self._device).eval()

    def __call__(self, texts: Sequence[str | list[int]]) -> list[tuple[float, ...]]:
        """A row of numbers for each text or list of token ids. Raises ValueError for a text that is too long, or a
        token that the model does not have."""
        rows = [self._read(text) for text in texts]
        found: list[tuple[float, ...]] = [()] * len(rows)
        for numbers in LengthBatches([len(ids) for ids, _ in rows], BATCH_TOKENS, 0).batches:
            with torch.no_grad():
                values = self._numbers([rows[i] for i in numbers])
            for number, row in zip(numbers, values, strict=True):
                found[number] = row
        return found

    def _read(self, text: str | list[int]) -> Place:
        if isinstance(text, list):
            vocabulary = self._model.get_input_embeddings().num_embeddings
            if max(text) >= vocabulary or len(text) > self._longest:
                raise ValueError(f"token ids must be below {vocabulary}, and at most {self._longest} in a text")
            return text, (len(text) - 1, len(text) - 1)
        if self.rewards:
            ids = reward_ids(text, self._tokenizer, self._longest)
            if not ids:
                raise ValueError(f"a text is empty, or its question is longer than {self._longest} tokens")
            return ids, (0, 0)
        ids, offsets = self._tokenizer.encode(text, special=False)
        if not ids:
            raise ValueError("a text is empty")
        return without_oldest(text, ids, offsets, self._longest)

    def _numbers(self, rows: Sequence[Place]) -> list[tuple[float, ...]]:
        batch = padded([ids for ids, _ in rows], self._pad)
        ids, mask = (one.to(self._device) for one in batch.values())
        if self._heads is None:
            return [(float(one),) for one in self._model(input_ids=ids, attention_mask=mask).logits[:, 0]]
        hidden = hidden_states(self._model, ids, mask)
        every = torch.arange(len(rows), device=self._device)
        pairs = []
        for head, name in enumerate(NAMES):
            read = torch.tensor([place[head] for _, place in rows], device=self._device)
            pairs.append(self._heads.value(name, hidden[every, read]).tolist())
        return list(zip(*pairs, strict=True))
