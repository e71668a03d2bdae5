"""Files exported from runs, taken by an installed TRL: every trainer, one step of optimisation each."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from espalier.errors import InputError
from espalier.export import verify_trl
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.verify import load, verify
from exporting import exported, foretold

LIMIT = 1024
CASES = [
    ("sft.messages", "conversational", verify_trl.sft_trainer),
    ("sft.prompt_completion", "conversational", verify_trl.sft_trainer),
    ("sft.prompt_completion", "standard", verify_trl.sft_trainer),
    ("sft.tokens", "conversational", verify_trl.sft_trainer),
    ("dpo.explicit", "conversational", verify_trl.dpo_trainer),
    ("dpo.explicit", "standard", verify_trl.dpo_trainer),
    ("prm.pairwise", "conversational", verify_trl.reward_trainer),
    ("prm.pairwise", "standard", verify_trl.reward_trainer),
]


@pytest.mark.parametrize(("format", "style", "make"), CASES)
def test_a_step_on_exported_rows_and_the_losses_that_were_foretold(
    run: Path, tmp_path: Path, tokenizer: str, format: str, style: str, make: Any
):
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


@pytest.mark.parametrize(
    ("format", "method", "make"),
    [
        ("sft.messages", "decouple", verify_trl.sft_trainer),
        ("sft.prompt_completion", "decouple", verify_trl.sft_trainer),
        ("dpo.explicit", "decex", verify_trl.dpo_trainer),
    ],
)
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
    taken = verify_trl.sft_trainer(source, byte_tokenizer(), str(tmp_path), max_length=None).train_dataset
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
    trainer = verify_trl.reward_trainer(load(file.path), byte_tokenizer(), str(tmp_path), max_length=None)
    batch = trainer.data_collator([trainer.train_dataset[0]])
    assert batch["margin"].item() == pytest.approx(load(file.path)[0]["margin"]) and batch["margin"] > 0


def test_a_step_of_grpo_on_exported_questions(run: Path, tmp_path: Path, tokenizer: str):
    file = exported(run, "rl.prompts", tokenizer)
    small = {"max_steps": 1, "per_device_train_batch_size": 2, "num_generations": 2, "max_completion_length": 4}
    trainer = verify_trl.grpo_trainer(load(file.path), byte_tokenizer(), str(tmp_path), **small)
    trainer.train()
    assert trainer.state.global_step == 1 and len(trainer.train_dataset) == file.rows


@pytest.mark.parametrize("style", ["conversational", "standard"])
def test_our_tokens_are_those_of_trl(run: Path, tmp_path: Path, tokenizer: str, style: str):
    ours = load(exported(run, "sft.tokens", tokenizer, style).path)
    texts = load(exported(run, "sft.prompt_completion", tokenizer, style).path)
    theirs = verify_trl.sft_trainer(texts, byte_tokenizer(), str(tmp_path), max_length=None).train_dataset
    # TRL learns the line break that a chat template puts behind the end of a turn too
    last = None if style == "standard" else -1
    for own, other in zip(ours, theirs, strict=True):
        assert own["input_ids"] == other["input_ids"]
        assert own["labels"][:last] == other["labels"][:last]


def test_verify_takes_all_files_and_says_what_is_lost(run: Path, tokenizer: str):
    long = exported(run, "prm.pairwise", tokenizer)
    turns = exported(run, "sft.messages", tokenizer, method="decouple")
    found = verify([long.path, turns.path], "trl")
    assert [one.by.split()[0] for one in found] == ["DPOTrainer", "RewardTrainer", "SFTTrainer"]
    assert [one.rows for one in found] == [long.rows, long.rows, turns.rows]
    assert found[1].taken == long.rows - long.lengths[0].rows["dropped"] < long.rows
    assert found[2].taken == turns.rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"prompt": "a"', "cannot read it"),
        ('{"prompt": "a", "completion": "b"}\n{"prompt": 3, "completion": []}\n', "refuses it"),
        ('{"question": "a"}\n', "trl takes no file of the columns question"),
    ],
)
def test_files_that_no_trainer_takes(tmp_path: Path, text: str, message: str):
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        verify([file], "trl")
