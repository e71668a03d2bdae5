"""A folder of transformers as a language model."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._core import Completion, Prompt
from ..errors import BackendError, Error, InputError, MissingPart
from ..export.template import check_templates, in_template
from ..io.files import read_text
from .decoding import Decoder, Keep, bare_text, prefilled
from .folder import check_folder, folder_hash, loaded, weights
from .llama_cpp import Held
from .memory import available_memory, gib


class Transformers(Held):
    """A causal model of transformers in this process: `model=Transformers("folder")`.

    It takes a folder with weights, tokenizer and chat template, or a loaded model with its tokenizer. `device` is cpu,
    cuda or cuda:N (default: cuda where there is one). Up to `batch` samples are written at once (0 = 256 on a GPU, 32
    elsewhere). `chat` puts the messages into the tokenizer's chat template. Without it their plain text is continued.
    `thinking` (on or off) is told to the template of a reasoning model, as `enable_thinking`.

    `fingerprint` names the content of the folder. `keep` is told the prompt, the text and the token ids of each sample,
    with those of its stop string, for a training on the very tokens. Raises InputError for a folder without model,
    tokenizer or template, ValueError for a device that is not there, MissingPart, Error for too little memory.
    """

    takes_grammar = True

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        device: str = "",
        batch: int = 0,
        chat: bool = True,
        thinking: str = "",
        fingerprint: str | None = None,
        keep: Keep | None = None,
        load: bool = True,
    ) -> None:
        if batch < 0:
            raise ValueError(f"option 'batch': {batch} is not allowed, must be 1 or more, or 0 for the default")
        if thinking not in ("", "on", "off") or (thinking and not chat):
            raise ValueError(f"option 'thinking': {thinking} is not allowed, must be on or off, with a chat template")
        self.manner = manner(thinking, chat)
        self._template = {"enable_thinking": thinking == "on"} if thinking else {}
        self._folder = Path(model) if isinstance(model, (str, os.PathLike)) else None
        self._model: Any = None if self._folder else model
        self._tokenizer, self._device = tokenizer, device
        self._batch, self._chat, self._keep = batch, chat, keep
        self._decoder: Decoder | None = None
        self._lock = threading.Lock()
        if self._folder is not None:
            check_folder(self._folder)
            fingerprint = fingerprint or f"{self._folder.resolve().name}@{folder_hash(self._folder)}"
            fingerprint += self.manner
        elif chat and not tokenizer.chat_template:
            raise ValueError("this tokenizer has no chat template: chat=False sends the bare text")
        self.fingerprint = fingerprint
        self.name = self._folder.resolve().name if self._folder else type(model).__name__
        if load:
            self.load()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def close(self) -> None:
        """Frees the model. It is loaded again where it is used again."""
        self._decoder = None
        if self._folder is not None:
            self._model = None

    def load(self) -> None:
        """Loads the model. Does nothing if that was done."""
        if self._decoder is not None:
            return
        torch, transformers = libraries()
        if self._folder is not None:
            device = chosen_device(torch, self._device)
            tokenizer = self._tokenizer
            if tokenizer is None:
                tokenizer = loaded(transformers.AutoTokenizer, self._folder)
            if self._chat and not tokenizer.chat_template:
                raise InputError(
                    f"{self._folder}: the tokenizer has no chat template; option 'api' as completions (in Python "
                    "chat=False) sends the bare text"
                )
            if self._chat:
                check_templates(tokenizer.chat_template, self._folder)
            check_memory(torch, self._folder, device)
            kind = torch.float32 if device.type == "cpu" else "auto"
            self._model = loaded(transformers.AutoModelForCausalLM, self._folder, dtype=kind).to(device)
            self._tokenizer = tokenizer
        batch = self._batch or (32 if self._model.device.type == "cpu" else 256)
        self._decoder = Decoder(self._model, self._tokenizer, batch, self._keep)

    def __call__(self, prompts: Sequence[Prompt]) -> list[Completion | BackendError]:
        with self._lock:
            self.load()
            decoder = self._decoder
            assert decoder is not None
            ids = self._ids(prompts)
            return decoder.answer(prompts, [ids[text] for text in self._texts(prompts)])

    def _texts(self, prompts: Sequence[Prompt]) -> Iterator[str]:
        for prompt in prompts:
            if not self._chat:
                yield bare_text(prompt)
                continue
            begun = prefilled(prompt)
            told = {"add_generation_prompt": not begun, "continue_final_message": begun, **self._template}
            yield in_template(self._tokenizer, prompt.messages, self.name, **told)

    def _ids(self, prompts: Sequence[Prompt]) -> dict[str, list[int]]:
        texts = list(dict.fromkeys(self._texts(prompts)))
        return dict(zip(texts, self._tokenizer(texts, add_special_tokens=not self._chat)["input_ids"], strict=True))


def libraries() -> tuple[Any, Any]:
    """torch and transformers. Raises MissingPart without them."""
    try:
        import torch
        import transformers
    except ImportError:
        raise MissingPart("this model needs torch and transformers: pip install torch transformers") from None
    return torch, transformers


def manner(thinking: str, chat: bool) -> str:
    """How a folder's model is asked, as a part of its identity."""
    return (f", thinking {thinking}" if thinking else "") + ("" if chat else ", bare text")


def chosen_device(torch: Any, name: str) -> Any:
    """The device of this name. Raises ValueError where there is none."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError:
        raise ValueError(f"option 'device': {name} is not allowed, must be cpu, cuda or cuda:N") from None
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise ValueError(f"option 'device': {name} is not there, this machine has {count} CUDA devices")
    elif device.type != "cpu":
        raise ValueError(f"option 'device': {name} is not allowed, must be cpu, cuda or cuda:N")
    return device


def check_memory(torch: Any, folder: Path, device: Any) -> tuple[int, int | None]:
    """The bytes that the weights need, and those that are left, None = unknown. Raises Error where they do not fit.

    On a processor they are kept as floats of 4 bytes.
    """
    size = sum(path.stat().st_size for path in weights(folder))
    if device.type == "cuda":
        left = torch.cuda.mem_get_info(device)[0]
    else:
        left = available_memory()
        if any(name in read_text(folder / "config.json") for name in ('"bfloat16"', '"float16"')):
            size *= 2
    if left is not None and size > left:
        raise Error(f"{folder}: too little memory: {gib(size)} of weights, {gib(left)} left on {device}")
    return size, left
