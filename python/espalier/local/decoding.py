"""Samples from a causal model, many rows at a time, with noise that is made from counters.

The noise depends on a row's seed, the step and the token, and on nothing else. Only operations that every device rounds
alike are used (whole numbers, and sums, products and quotients of floats), so it is equal to the bit in any batch, on
any processor. Numbers for a large vocabulary cost a GPU memory traffic and little else, so they have 4 bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._core import Completion, Prompt
from ..errors import BackendError
from .grammar import Grammars

GOLDEN = 0x9E3779B9 - (1 << 32)
"""2^32 over the golden ratio, as a signed number."""
FIRST, SECOND = 0x7FEB352D, 0x846CA68B - (1 << 32)
"""Odd multipliers of a mixing function of 32 bits (lowbias32, public domain)."""
LOG2 = 0.6931471805599453


def _shifted(x: Any, bits: int) -> Any:
    """A logical shift to the right: torch's own keeps the sign."""
    return (x >> bits).bitwise_and_((1 << (32 - bits)) - 1)


def mixed(x: Any) -> Any:
    """A bijection of whole numbers of 32 bits, whose outputs look independent."""
    x = _shifted(x, 16).bitwise_xor_(x).mul_(FIRST)
    x = _shifted(x, 15).bitwise_xor_(x).mul_(SECOND)
    return _shifted(x, 16).bitwise_xor_(x)


def exponential(seeds: Any, steps: Any, vocabulary: int) -> Any:
    """Standard exponential numbers, floats above 0, one for each row and token.

    `seeds` and `steps` are whole numbers of 64 bits, one per row, on the device where the numbers are made.
    """
    import torch

    low, high, step = (one.to(torch.int32) for one in (seeds, seeds >> 32, steps))
    rows = mixed(mixed(mixed(low + GOLDEN) + high) + step)
    tokens = torch.arange(1, vocabulary + 1, device=seeds.device, dtype=torch.int32) * GOLDEN
    bits = _shifted(mixed(rows[:, None] + tokens[None, :]), 1)
    return _minus_log_of_rest(bits.float().add_(0.5).mul_(2.0**-31))


def _minus_log_of_rest(v: Any) -> Any:
    """-log(1 - v) of floats in (0, 1), with a relative error below 1e-5, also near 0. Of 1 it is 22.2."""
    import torch

    fraction, power = torch.frexp((1 - v).clamp_(min=2.0**-32))  # fraction in [1/2, 1)
    small = fraction < 0.7071067811865476
    fraction = torch.where(small, fraction * 2, fraction)
    power = power - small.to(power.dtype)
    # -log f = 2 atanh s. Where the power is 0, 1 - f is v itself, which has more digits.
    s = torch.where(power == 0, v, 1 - fraction).div_(fraction.add_(1))
    square = s * s
    series = (square * (1 / 5)).add_(1 / 3).mul_(square).add_(1).mul_(s).mul_(2)
    return series.sub_(power.float().mul_(LOG2))


def seed_of(prompt: Prompt) -> int:
    """Below 2^63, one for each sample of a prompt."""
    digest = hashlib.blake2b(f"{prompt.seed}/{prompt.sample}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def prefilled(prompt: Prompt) -> bool:
    """The answer has begun: the model goes on from there."""
    return prompt.messages[-1]["role"] == "assistant"


def bare_text(prompt: Prompt) -> str:
    """The prompt for a model without a chat template."""
    return "".join(message["content"] for message in prompt.messages)


def until_stop(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The text up to the end of the first stop string, which stays, and whether there is one."""
    ends = [at + len(stop) for stop in stops if (at := text.find(stop)) >= 0]
    return (text[: min(ends)], True) if ends else (text, False)


SLICE = 64
"""Rows whose noise is made at once, so that it needs little memory."""


@dataclass
class Row:
    """A sample that is being written."""

    place: int
    prompt: Prompt
    prompt_tokens: int
    most: int
    """Tokens that it may write."""
    matcher: Any = None
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str = ""
    """How it ended, '' = it goes on."""


Keep = Callable[[Prompt, str, Sequence[int]], None]
"""Is told the prompt, the text and the token ids of a sample."""


class Decoder:
    """Writes samples with a model and its tokenizer, up to `batch` rows at once."""

    def __init__(self, model: Any, tokenizer: Any, batch: int, keep: Keep | None = None) -> None:
        self._model, self._tokenizer, self._batch, self._keep = model, tokenizer, batch, keep
        self._vocabulary = int(model.config.vocab_size)
        self._context = int(getattr(model.config, "max_position_embeddings", 0) or 1 << 30)
        self._ends = set(_listed(model.generation_config.eos_token_id) or _listed(tokenizer.eos_token_id))
        self._grammars = Grammars(tokenizer, self._vocabulary)
        self._marks: dict[tuple[str, ...], Any] = {}

    def answer(self, prompts: Sequence[Prompt], ids: Sequence[list[int]]) -> list[Completion | BackendError]:
        """One completion for each prompt, whose token ids are given."""
        answers: dict[int, Completion | BackendError] = {}
        rows: list[tuple[list[int], Row]] = []
        for place, (prompt, begin) in enumerate(zip(prompts, ids, strict=True)):
            room = self._context - len(begin)
            if room < 1:
                text = (
                    f"the prompt has {len(begin)} tokens and the model's context {self._context}: give shorter prompts"
                )
                answers[place] = Completion(text, finish="too_long", prompt_tokens=len(begin))
                continue
            try:
                matcher = self._grammars.matcher(getattr(prompt, "grammar", ""))
            except ValueError as error:
                answers[place] = BackendError(str(error), permanent=True)
                continue
            rows.append((begin, Row(place, prompt, len(begin), min(prompt.max_tokens, room), matcher)))
        rows.sort(key=lambda one: (len(one[0]), one[0], one[1].place))  # little padding, equal prompts side by side
        for first in range(0, len(rows), self._batch):
            answers |= self._write(rows[first : first + self._batch])
        return [answers[place] for place in range(len(prompts))]

    def _write(self, rows: list[tuple[list[int], Row]]) -> dict[int, Completion | BackendError]:
        """Writes one batch, or halves of it where the memory does not suffice."""
        import torch

        try:
            with torch.inference_mode():
                self._run(rows)
        except torch.OutOfMemoryError:
            for _, row in rows:
                row.ids, row.logprobs, row.finish = [], [], ""
                row.matcher = self._grammars.matcher(getattr(row.prompt, "grammar", ""))
            torch.cuda.empty_cache()
            if len(rows) == 1:
                error = BackendError("too little memory on the device for one sample", permanent=True)
                return {rows[0][1].place: error}
            half = len(rows) // 2
            return self._write(rows[:half]) | self._write(rows[half:])
        return {row.place: self._completion(row) for _, row in rows}

    def _run(self, rows: list[tuple[list[int], Row]]) -> None:
        """Prompts that several rows share are read once. Rows that have ended leave the batch when it is half empty."""
        import torch

        device = self._model.device
        texts: list[list[int]] = []
        owner: list[int] = []
        for ids, _ in rows:
            if not texts or texts[-1] != ids:
                texts.append(ids)
            owner.append(len(texts) - 1)
        longest = len(texts[-1])
        padded = torch.zeros(len(texts), longest, dtype=torch.long)
        mask = torch.zeros(len(texts), longest, dtype=torch.long)
        for i, ids in enumerate(texts):
            padded[i, longest - len(ids) :] = torch.tensor(ids)
            mask[i, longest - len(ids) :] = 1
        padded, mask = padded.to(device), mask.to(device)
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        read = self._model(input_ids=padded, attention_mask=mask, position_ids=places, use_cache=True, logits_to_keep=1)
        cache, expand = read.past_key_values, torch.tensor(owner, device=device)
        logits = read.logits[:, -1].index_select(0, expand)
        mask, place = mask.index_select(0, expand), places[:, -1].index_select(0, expand)
        if len(owner) != len(texts):
            cache.reorder_cache(expand)
        live = [row for _, row in rows]
        draw = _Draw(live, device)
        for step in range(max(row.most for row in live)):
            tokens = self._drawn(live, draw, logits, step)
            self._take(live, tokens)
            going = [i for i, row in enumerate(live) if not row.finish]
            if not going:
                return
            if 2 * len(going) <= len(live):
                kept = torch.tensor(going, device=device)
                live = [live[i] for i in going]
                tokens, mask, place = (one.index_select(0, kept) for one in (tokens, mask, place))
                cache.reorder_cache(kept)
                draw = _Draw(live, device)
            mask = torch.cat([mask, mask.new_ones(len(live), 1)], 1)
            place = place + 1
            read = self._model(
                input_ids=tokens[:, None],
                attention_mask=mask,
                position_ids=place[:, None],
                past_key_values=cache,
                use_cache=True,
            )
            cache, logits = read.past_key_values, read.logits[:, -1]

    def _drawn(self, live: list[Row], draw: _Draw, logits: Any, step: int) -> Any:
        """The next token of every row."""
        import torch

        logits = logits.float()
        asked = [i for i, row in enumerate(live) if (row.prompt.logprobs or row.prompt.keep_tokens) and not row.finish]
        plain = torch.log_softmax(logits[asked], -1) if asked else None
        allowed = self._grammars.mask([row.matcher if not row.finish else None for row in live], logits.device)
        if allowed is not None:
            logits = logits.masked_fill(~allowed, -torch.inf)
        tokens = draw(logits, step)
        if plain is not None:
            chosen = plain.gather(1, tokens[asked][:, None])[:, 0].tolist()
            for i, logprob in zip(asked, chosen, strict=True):
                live[i].logprobs.append(logprob)
        return tokens

    def _take(self, live: list[Row], tokens: Any) -> None:
        """Adds a token to every row and notes which rows have ended."""
        flags = [False] * len(live)
        for stops in {tuple(row.prompt.stop) for row in live if row.prompt.stop}:
            marked = self._last_characters(stops, tokens.device)[tokens].tolist()
            flags = [
                flag or (mark and tuple(row.prompt.stop) == stops)
                for flag, mark, row in zip(flags, marked, live, strict=True)
            ]
        for row, token, flag in zip(live, tokens.tolist(), flags, strict=True):
            if row.finish:
                continue
            row.ids.append(token)
            ruled = row.matcher is not None and (not row.matcher.consume_token(token) or row.matcher.is_stopped())
            if ruled or token in self._ends or (flag and self._stopped(row)):
                row.finish = "stop"
            elif len(row.ids) >= row.most:
                row.finish = "length"

    def _stopped(self, row: Row) -> bool:
        tail = row.ids[-(max(map(len, row.prompt.stop)) + 4) :]
        return until_stop(self._tokenizer.decode(tail), row.prompt.stop)[1]

    def _last_characters(self, stops: tuple[str, ...], device: Any) -> Any:
        """For each token whether its text may end a stop string: only then a row's text has to be looked at."""
        import torch

        if stops not in self._marks:
            last = {stop[-1] for stop in stops}
            pieces = self._tokenizer.batch_decode([[i] for i in range(min(len(self._tokenizer), self._vocabulary))])
            marks = [bool(last & set(piece)) or "\ufffd" in piece for piece in pieces]
            marks += [False] * (self._vocabulary - len(marks))
            self._marks[stops] = torch.tensor(marks, device=device)
        return self._marks[stops]

    def _completion(self, row: Row) -> Completion:
        ids = row.ids[:-1] if row.ids and row.ids[-1] in self._ends else row.ids
        text, _ = until_stop(self._tokenizer.decode(ids, skip_special_tokens=True), row.prompt.stop)
        if self._keep:
            self._keep(row.prompt, text, row.ids)
        each = zip(self._tokenizer.batch_decode([[i] for i in row.ids]), row.logprobs, strict=False)
        return Completion(
            text,
            finish=row.finish or "length",
            prompt_tokens=row.prompt_tokens,
            completion_tokens=len(row.ids),
            logprob=sum(row.logprobs) if row.prompt.logprobs else None,
            tokens=list(each) if row.prompt.token_logprobs else [],
            token_ids=row.ids if row.prompt.keep_tokens else [],
            logprobs=row.logprobs if row.prompt.keep_tokens else [],
        )


class _Draw:
    """Draws a token for each row: temperature, the likeliest tokens, then noise of the row's own."""

    def __init__(self, rows: Sequence[Row], device: Any) -> None:
        import torch

        def column(values: list[Any]) -> Any:
            return torch.tensor(values, device=device)[:, None]

        self._warm = [i for i, row in enumerate(rows) if row.prompt.temperature > 0]
        warm = [rows[i].prompt for i in self._warm]
        self._temperature = column([prompt.temperature for prompt in warm]) if warm else None
        self._chooses = any(one.top_p < 1 or one.top_k for one in warm)
        self._top_p = column([prompt.top_p for prompt in warm]) if self._chooses else None
        self._top_k = column([prompt.top_k or 1 << 30 for prompt in warm]) if self._chooses else None
        self._seeds = torch.tensor([seed_of(prompt) for prompt in warm], device=device, dtype=torch.long)

    def __call__(self, logits: Any, step: int) -> Any:
        import torch

        tokens = logits.argmax(-1)
        if not self._warm:
            return tokens
        all_warm = len(self._warm) == len(tokens)
        scores = (logits if all_warm else logits[self._warm]) / self._temperature
        if self._chooses:
            scores = self._likeliest(scores)
        drawn = []
        for begin in range(0, len(scores), SLICE):
            seeds = self._seeds[begin : begin + SLICE]
            noise = exponential(seeds, torch.full_like(seeds, step), scores.shape[1])
            drawn.append((torch.softmax(scores[begin : begin + SLICE], -1) / noise).argmax(-1))
        chosen = torch.cat(drawn)
        if all_warm:
            return chosen
        tokens[self._warm] = chosen
        return tokens

    def _likeliest(self, scores: Any) -> Any:
        """Keeps the top_k likeliest tokens of each row, and of these those that reach its top_p, at least one."""
        import torch

        ordered, order = torch.sort(scores, dim=-1, descending=True, stable=True)
        beyond = torch.arange(ordered.shape[1], device=ordered.device) >= self._top_k
        chances = torch.softmax(ordered.masked_fill(beyond, -torch.inf), -1)
        unlikely = beyond | (chances.cumsum(-1) - chances >= self._top_p)
        unlikely[:, 0] = False
        return scores.masked_fill(torch.zeros_like(unlikely).scatter(1, order, unlikely), -torch.inf)


def _listed(ids: Any) -> list[int]:
    return [] if ids is None else list(ids) if isinstance(ids, (list, tuple)) else [ids]
