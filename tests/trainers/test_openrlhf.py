"""Files exported from runs, taken by the data sets of an installed OpenRLHF."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from espalier.export.byte_tokenizer import byte_tokenizer
from exporting import exported, foretold, load
from openrlhf.datasets import PromptDataset, RewardDataset, SFTDataset

EOS = byte_tokenizer().eos_token
LONG = 1 << 20


def strategy(data: Any, **keys: str) -> Any:
    """What the data sets ask of a training run: its options --data.*, and whether this process is the first."""
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


CASES = [("sft.prompt_completion", sft_dataset, 2048)]
CASES += [("dpo.explicit", dpo_dataset, 512), ("prm.pairwise", reward_dataset, 512)]


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
