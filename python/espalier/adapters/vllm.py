"""vLLM without a server: its `LLM` object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Completion, Prompt
from ..errors import MissingPart
from .sampling import bare_text, prefilled, seed_of


class VllmModel:
    """An `LLM` of vLLM as a function of prompts: `model=VllmModel(LLM("Qwen/Qwen2.5-7B-Instruct"))`.

    All prompts of a call go to vLLM at once, each with its own sampling. `chat` uses the model's chat template. Without
    it the messages' plain text is continued. Raises MissingPart without vLLM.
    """

    def __init__(self, llm: Any, *, chat: bool = True) -> None:
        try:
            from vllm import SamplingParams
        except ImportError:
            raise MissingPart("this model needs the package vllm") from None
        self._llm = llm
        self._chat = chat
        self._params = SamplingParams

    def __call__(self, prompts: Sequence[Prompt]) -> list[Completion]:
        answers: dict[int, Completion] = {}
        for begun in (False, True):  # vLLM wants to know for a whole call
            places = [i for i, prompt in enumerate(prompts) if prefilled(prompt) is begun]
            if places:
                outputs = self._ask([prompts[i] for i in places], begun)
                answers.update(zip(places, map(self._read, outputs), strict=True))
        return [answers[i] for i in range(len(prompts))]

    def _ask(self, prompts: Sequence[Prompt], begun: bool) -> Any:
        params = [self._sampling(prompt) for prompt in prompts]
        if not self._chat:
            return self._llm.generate([bare_text(prompt) for prompt in prompts], params, use_tqdm=False)
        messages = [prompt.messages for prompt in prompts]
        return self._llm.chat(
            messages, params, use_tqdm=False, add_generation_prompt=not begun, continue_final_message=begun
        )

    def _sampling(self, prompt: Prompt) -> Any:
        return self._params(
            temperature=prompt.temperature,
            top_p=prompt.top_p,
            top_k=prompt.top_k or -1,
            max_tokens=prompt.max_tokens,
            stop=list(prompt.stop),
            include_stop_str_in_output=True,
            seed=seed_of(prompt),
        )

    @staticmethod
    def _read(output: Any) -> Completion:
        written = output.outputs[0]
        return Completion(
            written.text,
            finish="length" if written.finish_reason == "length" else "stop",
            prompt_tokens=len(output.prompt_token_ids),
            completion_tokens=len(written.token_ids),
        )
