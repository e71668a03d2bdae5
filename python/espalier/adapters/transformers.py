"""A language model of transformers, in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._core import Completion, Prompt
from ..errors import MissingPart
from .sampling import bare_text, prefilled, seed_of, until_stop


class TransformersModel:
    """A causal model and its tokenizer as a function of prompts: `model=TransformersModel(model, tokenizer)`.

    Prompts with equal sampling are answered `batch` at a time. A sample depends only on its seed and number, not on the
    rest of the batch. Only the model's rounding may differ between batches. `chat` puts the messages into the
    tokenizer's chat template. Without it their plain text is continued.

    Raises ValueError for a tokenizer without a template, MissingPart without torch and transformers.
    """

    def __init__(self, model: Any, tokenizer: Any, *, batch: int = 16, chat: bool = True) -> None:
        if batch < 1:
            raise ValueError(f"option 'batch': {batch} is not allowed, must be 1 or more")
        if chat and not tokenizer.chat_template:
            raise ValueError("this tokenizer has no chat template: chat=False sends the bare text")
        self._model = model
        self._tokenizer = tokenizer
        self._batch = batch
        self._chat = chat

    def __call__(self, prompts: Sequence[Prompt]) -> list[Completion]:
        answers: dict[int, Completion] = {}
        for places in self._batches(prompts):
            answers.update(zip(places, self._answer([prompts[i] for i in places]), strict=True))
        return [answers[i] for i in range(len(prompts))]

    def _batches(self, prompts: Sequence[Prompt]) -> Iterator[list[int]]:
        alike: dict[tuple[Any, ...], list[int]] = {}
        for i, prompt in enumerate(prompts):
            alike.setdefault((prompt.temperature, prompt.top_p, prompt.max_tokens, *prompt.stop), []).append(i)
        for places in alike.values():
            for begin in range(0, len(places), self._batch):
                yield places[begin : begin + self._batch]

    def _text(self, prompt: Prompt) -> str:
        if not self._chat:
            return bare_text(prompt)
        begun = prefilled(prompt)
        text: str = self._tokenizer.apply_chat_template(
            prompt.messages, tokenize=False, add_generation_prompt=not begun, continue_final_message=begun
        )
        return text

    def _answer(self, prompts: Sequence[Prompt]) -> Iterator[Completion]:
        try:
            import torch
            from transformers import GenerationConfig
        except ImportError:
            raise MissingPart("this model needs the packages torch and transformers") from None

        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        texts = [self._text(prompt) for prompt in prompts]
        inputs = self._tokenizer(
            texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=not self._chat
        ).to(self._model.device)
        first = prompts[0]
        ends = self._ends()
        config = GenerationConfig(
            max_new_tokens=first.max_tokens, eos_token_id=ends, pad_token_id=self._tokenizer.pad_token_id
        )
        with torch.inference_mode():
            written = self._model.generate(
                **inputs,
                generation_config=config,
                logits_processor=drawing(prompts) if first.temperature > 0 else None,
                stop_strings=list(first.stop) or None,
                tokenizer=self._tokenizer,
            )
        for prompt, mask, row in zip(prompts, inputs["attention_mask"], written, strict=True):
            ids = row[inputs["input_ids"].shape[1] :].tolist()
            yield self._read(prompt, ids, ends, prompt_tokens=int(mask.sum()))

    def _ends(self) -> list[int]:
        """The ids that end a text."""
        ends = self._model.generation_config.eos_token_id
        if ends is None:
            ends = self._tokenizer.eos_token_id
        return [] if ends is None else list(ends) if isinstance(ends, (list, tuple)) else [ends]

    def _read(self, prompt: Prompt, ids: list[int], ends: list[int], *, prompt_tokens: int) -> Completion:
        """A row's reply. Padding follows its end."""
        over = {*ends, self._tokenizer.pad_token_id}
        length = next((i for i, id in enumerate(ids) if id in over), len(ids))
        text, stopped = until_stop(self._tokenizer.decode(ids[:length], skip_special_tokens=True), prompt.stop)
        finished = stopped or (length < len(ids) and ids[length] in ends)
        return Completion(
            text,
            finish="stop" if finished else "length",
            prompt_tokens=prompt_tokens,
            completion_tokens=length + (not stopped and finished),
        )


def drawing(prompts: Sequence[Prompt]) -> Any:
    """Processors under which the best token is a sample: temperature, nucleus, then Gumbel noise of each row's own."""
    import torch
    from transformers import LogitsProcessor, LogitsProcessorList, TemperatureLogitsWarper, TopPLogitsWarper

    class Noise(LogitsProcessor):  # type: ignore[misc]
        def __init__(self) -> None:
            self.generators = [torch.Generator().manual_seed(seed_of(prompt)) for prompt in prompts]

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            rows = [torch.empty(scores.shape[1]).exponential_(generator=one) for one in self.generators]
            return scores - torch.stack(rows).log().to(scores.device)

    processors = LogitsProcessorList([TemperatureLogitsWarper(prompts[0].temperature)])
    if prompts[0].top_p < 1:
        processors.append(TopPLogitsWarper(prompts[0].top_p))
    processors.append(Noise())
    return processors
