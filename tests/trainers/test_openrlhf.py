"""Files exported from runs, taken by the data sets of an installed OpenRLHF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from espalier.errors import InputError
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.verify import load, verify
from espalier.export.verify_openrlhf import dpo_dataset, prompt_dataset, reward_dataset, sft_dataset
from exporting import exported, foretold

EOS = byte_tokenizer().eos_token
LONG = 1 << 20


def text(side: Any) -> str:
    """A side as it stands behind its prompt: of a conversation, with the end of the turn."""
    return side if isinstance(side, str) else f"{side[0]['content']}<|im_end|>\n"


def ended(said: str) -> str:
    """OpenRLHF puts the end-of-text token behind a space, and line breaks at the end away."""
    said = said.rstrip("\n")
    return said if said.endswith(EOS) else f"{said} {EOS}"


@pytest.mark.parametrize(
    ("style", "method"), [("conversational", "decex"), ("conversational", "decouple"), ("standard", "decex")]
)
def test_the_answers_alone_are_learned(run: Path, tokenizer: str, style: str, method: str):
    file = exported(run, "sft.prompt_completion", tokenizer, style, method=method)
    data = load(file.path)
    dataset = sft_dataset(data, byte_tokenizer(), LONG)
    assert len(dataset) == file.rows > 0
    for i, row in enumerate(data):
        ids, _, mask = (tensor[0] for tensor in dataset[i])
        learned = ids[1:][mask[:-1].bool()]  # a place in the mask stands for the token after it
        assert byte_tokenizer().decode(learned) == ended(text(row["completion"]))


@pytest.mark.parametrize("style", ["conversational", "standard"])
def test_both_sides_of_a_pair_end_in_the_end_of_text(run: Path, tokenizer: str, style: str):
    file = exported(run, "dpo.explicit", tokenizer, style)
    data = load(file.path)
    dataset = dpo_dataset(data, byte_tokenizer(), LONG)
    assert len(dataset) == file.rows > 0
    for i, row in enumerate(data):
        chosen, _, rejected, _, prompt_length = dataset[i]
        for ids, side in ((chosen[0], "chosen"), (rejected[0], "rejected")):
            assert byte_tokenizer().decode(ids[prompt_length:]) == ended(text(row[side]))


CASES = [
    ("sft.prompt_completion", sft_dataset, 2048),
    ("dpo.explicit", dpo_dataset, 512),
    ("prm.pairwise", reward_dataset, 512),
]


@pytest.mark.parametrize(("format", "make", "usual"), CASES)
@pytest.mark.parametrize("style", ["conversational", "standard"])
def test_rows_are_dropped_as_foretold(run: Path, tokenizer: str, style: str, format: str, make: Any, usual: int):
    assert foretold(exported(run, format, tokenizer, style), "openrlhf").limit == usual
    file = exported(run, format, tokenizer, style, max_length=1024)
    data, report = load(file.path), foretold(file, "openrlhf")
    assert make(data, byte_tokenizer()).max_length == usual
    assert len(make(data, byte_tokenizer(), 1024)) == file.rows - report.rows["dropped"]
    assert (report.rows["dropped"] > 0) == (format != "prm.pairwise") and report.rows["kept"] > 0


def test_margins_reach_the_reward_model(run: Path, tokenizer: str):
    file = exported(run, "prm.pairwise", tokenizer, margin=True)
    data = load(file.path)
    dataset = reward_dataset(data, byte_tokenizer())
    assert [dataset[i][4] for i in range(len(dataset))] == data["margin"][:] and max(data["margin"]) > 0


@pytest.mark.parametrize("style", ["conversational", "standard"])
def test_questions_carry_their_answers(run: Path, tokenizer: str, style: str):
    data = load(exported(run, "rl.prompts", tokenizer, style).path)
    dataset = prompt_dataset(data, byte_tokenizer())
    assert len(dataset) == len(data)
    for i, row in enumerate(data):
        _, prompt, label, images = dataset[i]
        assert row["question"] in prompt and label == row["answers"] and images is None


def test_verify_takes_all_files_and_says_what_is_lost(run: Path, tokenizer: str):
    pairs, questions = exported(run, "dpo.explicit", tokenizer), exported(run, "rl.prompts", tokenizer)
    found = verify([pairs.path, questions.path], "openrlhf")
    assert [one.by for one in found] == [
        f"{name} of openrlhf 0.11.2" for name in ("RewardDataset (is_dpo)", "RewardDataset", "PromptDataset")
    ]
    lost = foretold(pairs, "openrlhf").rows["dropped"]
    assert [one.rows - one.taken for one in found] == [lost, 0, 0]
    assert [one.taken for one in verify([pairs.path], "openrlhf", tokenizer, LONG)] == [pairs.rows] * 2


def test_a_file_that_it_does_not_take(run: Path, tokenizer: str):
    with pytest.raises(InputError, match="openrlhf takes no file of the columns id, messages, meta"):
        verify([exported(run, "sft.messages", tokenizer).path], "openrlhf")
