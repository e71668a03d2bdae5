"""Files exported from runs, taken by an installed TRL: every trainer, one step of optimisation each."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import transformers
import trl
from espalier.export.byte_tokenizer import byte_tokenizer
from exporting import exported, foretold, load

LIMIT = 1024


def tiny_config(tokenizer: Any, **more: Any) -> Any:
    return transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=1 << 17, pad_token_id=tokenizer.pad_token_id, **more,
    )  # fmt: skip


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


CASES = [
    ("sft.messages", "conversational", sft_trainer), ("sft.prompt_completion", "conversational", sft_trainer),
    ("sft.prompt_completion", "standard", sft_trainer), ("sft.tokens", "conversational", sft_trainer),
    ("dpo.explicit", "conversational", dpo_trainer), ("dpo.explicit", "standard", dpo_trainer),
    ("prm.pairwise", "conversational", reward_trainer), ("prm.pairwise", "standard", reward_trainer),
]  # fmt: skip


@pytest.mark.parametrize(("format", "style", "make"), CASES)
def test_a_step_on_exported_rows_and_the_losses_that_were_foretold(run, tmp_path, tokenizer, format, style, make):
    file = exported(run, format, tokenizer, style)
    report = foretold(file, "trl")
    data = load(file.path)
    assert len(data) == file.rows
    small = {"max_steps": 1, "per_device_train_batch_size": 1, "learning_rate": 0.1}
    trainer = make(data, byte_tokenizer(), str(tmp_path), **small)
    assert type(trainer).__name__ == report.trainer.removeprefix("trl ")
    assert trainer.args.max_length == report.limit == LIMIT
    assert len(trainer.train_dataset) == file.rows - report.rows["dropped"]
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    done = trainer.train()
    assert trainer.state.global_step == 1 and math.isfinite(done.training_loss)
    assert any(not a.equal(b) for a, b in zip(before, trainer.model.parameters(), strict=True))


TOOLS = [(f"sft.{form}", "decouple", sft_trainer) for form in ("messages", "prompt_completion")]


@pytest.mark.parametrize(("format", "method", "make"), [*TOOLS, ("dpo.explicit", "decex", dpo_trainer)])
def test_a_step_on_rows_with_tools(run: Path, tmp_path: Path, tokenizer: str, format: str, method: str, make: Any):
    limit = 2 * LIMIT
    file = exported(run, format, tokenizer, "tools", method=method, max_length=limit)
    report = foretold(file, "trl")
    small = {"max_steps": 1, "per_device_train_batch_size": 1, "max_length": limit}
    trainer = make(load(file.path), byte_tokenizer(), str(tmp_path), **small)
    assert len(trainer.train_dataset) == file.rows - report.rows["dropped"] > 0
    assert math.isfinite(trainer.train().training_loss) and trainer.state.global_step == 1


@pytest.mark.parametrize("method", ["decex", "decouple"])
def test_calls_are_learned_and_what_they_bring_is_not(run: Path, tmp_path: Path, tokenizer: str, method: str):
    source = load(exported(run, "sft.prompt_completion", tokenizer, "tools", method=method).path)
    taken = sft_trainer(source, byte_tokenizer(), str(tmp_path), max_length=None).train_dataset
    decode = byte_tokenizer().decode
    for row, shown in zip(taken, source, strict=True):
        [said] = shown["completion"]
        call = json.dumps(said["tool_calls"][0]["function"], ensure_ascii=False)
        learned = decode([label for label in row["labels"] if label != -100])
        assert learned == f"{said['content']}\n<tool_call>{call}</tool_call><|im_end|>\n"
        text = decode(row["input_ids"])
        assert text.startswith(f"<|im_start|>system\n{shown['tools']}<|im_end|>\n")
        assert all(message["content"] in text for message in shown["prompt"])


def test_margins_reach_the_reward_trainer(run: Path, tmp_path: Path, tokenizer: str):
    file = exported(run, "prm.pairwise", tokenizer, margin=True)
    trainer = reward_trainer(load(file.path), byte_tokenizer(), str(tmp_path), max_length=None)
    batch = trainer.data_collator([trainer.train_dataset[0]])
    assert batch["margin"].item() == pytest.approx(load(file.path)[0]["margin"]) and batch["margin"] > 0


def test_a_step_of_grpo_on_exported_questions(run: Path, tmp_path: Path, tokenizer: str):
    file = exported(run, "rl.prompts", tokenizer)
    small = {"max_steps": 1, "per_device_train_batch_size": 2, "num_generations": 2, "max_completion_length": 4}
    trainer = grpo_trainer(load(file.path), byte_tokenizer(), str(tmp_path), **small)
    trainer.train()
    assert trainer.state.global_step == 1 and len(trainer.train_dataset) == file.rows


@pytest.mark.parametrize("style", ["conversational", "standard"])
def test_our_tokens_are_those_of_trl(run: Path, tmp_path: Path, tokenizer: str, style: str):
    ours = load(exported(run, "sft.tokens", tokenizer, style).path)
    texts = load(exported(run, "sft.prompt_completion", tokenizer, style).path)
    theirs = sft_trainer(texts, byte_tokenizer(), str(tmp_path), max_length=None).train_dataset
    # TRL learns the line break that a chat template puts behind the end of a turn too
    last = None if style == "standard" else -1
    for own, other in zip(ours, theirs, strict=True):
        assert own["input_ids"] == other["input_ids"]
        assert own["labels"][:last] == other["labels"][:last]
