"""Files in TRL's trainers, over a tiny model of random weights."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers
import trl

from .verify import Verified, load, no_taker, tokenizer_called


def tiny_config(tokenizer: Any, **more: Any) -> Any:
    return transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=1 << 17,
        pad_token_id=tokenizer.pad_token_id,
        **more,
    )


def trainers_for(data: Any) -> list[Callable[..., Any]]:
    """The trainers that take data of these columns."""
    columns = set(data.column_names)
    if columns >= {"prompt", "chosen", "rejected"}:
        return [reward_trainer] if "margin" in columns else [dpo_trainer, reward_trainer]
    if any(columns >= needed for needed in ({"messages"}, {"prompt", "completion"}, {"input_ids", "labels"})):
        return [sft_trainer]
    return [grpo_trainer] if columns >= {"prompt", "answers"} else []


def on_cpu(config: Any, folder: str, options: dict[str, Any]) -> Any:
    quiet = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True}
    return config(output_dir=folder, use_cpu=True, bf16=False, **quiet, **options)


def policy(tokenizer: Any) -> Any:
    transformers.set_seed(1)
    return transformers.LlamaForCausalLM(tiny_config(tokenizer))


def sft_trainer(data: Any, tokenizer: Any, folder: str, **options: Any) -> Any:
    arguments = on_cpu(trl.SFTConfig, folder, options)
    return trl.SFTTrainer(policy(tokenizer), arguments, train_dataset=data, processing_class=tokenizer)


def dpo_trainer(data: Any, tokenizer: Any, folder: str, **options: Any) -> Any:
    models = {"model": policy(tokenizer), "ref_model": policy(tokenizer)}
    arguments = on_cpu(trl.DPOConfig, folder, options)
    return trl.DPOTrainer(**models, args=arguments, train_dataset=data, processing_class=tokenizer)


def reward_trainer(data: Any, tokenizer: Any, folder: str, **options: Any) -> Any:
    transformers.set_seed(1)
    judge = transformers.LlamaForSequenceClassification(tiny_config(tokenizer, num_labels=1))
    arguments = on_cpu(trl.RewardConfig, folder, options)
    return trl.RewardTrainer(judge, arguments, train_dataset=data, processing_class=tokenizer)


def answered(completions: list[Any], answers: list[list[str]], **_: Any) -> list[float]:
    """A reward: does the completion hold one of the answers?"""
    said = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
    return [float(any(a in text for a in known)) for text, known in zip(said, answers, strict=True)]


def grpo_trainer(data: Any, tokenizer: Any, folder: str, **options: Any) -> Any:
    arguments = on_cpu(trl.GRPOConfig, folder, options)
    return trl.GRPOTrainer(policy(tokenizer), answered, arguments, train_dataset=data, processing_class=tokenizer)


def verify_file(file: Path, tokenizer: str | None, max_length: int | None) -> list[Verified]:
    """A result for each trainer that takes the file."""
    data = load(file)
    makers = trainers_for(data)
    if not makers:
        raise no_taker(file, "trl", data.column_names)
    found = []
    for make in makers:
        limit = {} if max_length is None or make is grpo_trainer else {"max_length": max_length}
        with tempfile.TemporaryDirectory() as folder:
            trainer = make(data, tokenizer_called(tokenizer), folder, **limit)
            by = f"{type(trainer).__name__} of trl {trl.__version__}"
            found.append(Verified(file, by, len(data), len(trainer.train_dataset)))
    return found
