"""Files in OpenRLHF's data sets, with the options of its command lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from openrlhf.datasets import PromptDataset, RewardDataset, SFTDataset

from .verify import Verified, load, no_taker, tokenizer_called


def strategy(data: Any, **keys: str) -> Any:
    """What the data sets ask of a training run: its options --data.* (by default a chat template where rows hold lists
    of messages), and whether this process is the first."""
    conversational = not isinstance(data[0]["prompt"], str)
    options = SimpleNamespace(apply_chat_template=conversational, **keys)
    return SimpleNamespace(args=SimpleNamespace(data=options), is_rank_0=lambda: True)


def sft_dataset(data: Any, tokenizer: Any, max_length: int = 2048) -> Any:
    run = strategy(data, input_key="prompt", output_key="completion")
    return SFTDataset(data, tokenizer, max_length, run, num_processors=None)


def pairs_dataset(data: Any, tokenizer: Any, max_length: int = 512, *, is_dpo: bool) -> Any:
    run = strategy(data, prompt_key="prompt", chosen_key="chosen", rejected_key="rejected")
    return RewardDataset(data, tokenizer, max_length, run, is_dpo=is_dpo, num_processors=None)


def prompt_dataset(data: Any, tokenizer: Any, max_length: int | None = None) -> Any:
    """Knows no limit: the engine that answers cuts."""
    return PromptDataset(data, tokenizer, strategy(data, input_key="prompt", label_key="answers"))


dpo_dataset = partial(pairs_dataset, is_dpo=True)
reward_dataset = partial(pairs_dataset, is_dpo=False)


def datasets_for(data: Any) -> list[tuple[str, Callable[..., Any]]]:
    """The data sets that take these columns, and what they are for."""
    columns = set(data.column_names)
    if columns >= {"prompt", "chosen", "rejected"}:
        reward = ("RewardDataset", reward_dataset)
        return [reward] if "margin" in columns else [("RewardDataset (is_dpo)", dpo_dataset), reward]
    if columns >= {"prompt", "completion"}:
        return [("SFTDataset", sft_dataset)]
    return [("PromptDataset", prompt_dataset)] if columns >= {"prompt", "answers"} else []


def verify_file(file: Path, tokenizer: str | None, max_length: int | None) -> list[Verified]:
    """A result for each data set that takes the file."""
    data = load(file)
    makers = datasets_for(data)
    if not makers:
        raise no_taker(file, "openrlhf", data.column_names)
    limit = {} if max_length is None else {"max_length": max_length}
    found = []
    for name, make in makers:
        dataset = make(data, tokenizer_called(tokenizer), **limit)
        taken = sum(1 for row in range(len(dataset)) if dataset[row])
        found.append(Verified(file, f"{name} of openrlhf {version('openrlhf')}", len(data), taken))
    return found
