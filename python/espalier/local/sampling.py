"""Seeds of samples, and where a reply ends."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from .._core import Prompt


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
