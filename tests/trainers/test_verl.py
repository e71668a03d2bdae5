"""Files exported from runs, taken by an installed verl: its data sets for RL and SFT, its reward of Search-R1."""

from pathlib import Path
from typing import Any

import pytest
import verl
from espalier.export.byte_tokenizer import byte_tokenizer
from exporting import exported, foretold, load
from omegaconf import OmegaConf
from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.utils.reward_score import default_compute_score

CONFIGURATIONS = Path(verl.__file__).parent / "trainer" / "config"


def rl_dataset(file: Path, tokenizer: Any, **options: Any) -> Any:
    usual = OmegaConf.load(CONFIGURATIONS / "data" / "legacy_data.yaml")
    return RLHFDataset(str(file), tokenizer, OmegaConf.merge(usual, options))


def sft_dataset(file: Path, tokenizer: Any, **options: Any) -> Any:
    usual = OmegaConf.load(CONFIGURATIONS / "sft_trainer_engine.yaml").data
    return MultiTurnSFTDataset(str(file), tokenizer, OmegaConf.merge(usual, options))


def fits(dataset: Any, row: int) -> bool:
    """False for a row that is too long: verl's trainer ends there, unless it is told to cut."""
    try:
        return bool(dataset[row]["loss_mask"].any())
    except ValueError as error:
        if "max_length" not in str(error):
            raise
        return False


def test_questions_reach_the_agent_loop_with_what_rewards_need(run: Path, tokenizer: str):
    file = exported(run, "rl.verl", tokenizer, data_source="searchR1_nq")
    dataset = rl_dataset(file.path, byte_tokenizer())
    source = load(file.path)
    assert len(dataset) == file.rows == 6
    for i, row in enumerate(source):
        taken = dataset[i]
        assert taken["raw_prompt"] == [{"role": "user", "content": row["extra_info"]["question"]}]
        assert taken["index"] == row["extra_info"]["index"] and taken["data_source"] == "searchR1_nq"
        answers = row["reward_model"]["ground_truth"]["target"]
        assert taken["tools_kwargs"]["search"]["create_kwargs"]["ground_truth"] == {"target": answers}
        truth = taken["reward_model"]["ground_truth"]
        for said, reward in ((answers[0], 1), ("of another world", 0)):
            assert default_compute_score(taken["data_source"], f"<answer> {said} </answer>", truth) == reward


def test_long_prompts_are_kept_to_be_cut_or_dropped_on_demand(run: Path, tokenizer: str):
    lengths = [
        len(byte_tokenizer().apply_chat_template(row["prompt"], add_generation_prompt=True)["input_ids"])
        for row in load(exported(run, "rl.verl", tokenizer).path)
    ]
    limit = sorted(lengths)[2]
    file = exported(run, "rl.verl", tokenizer, max_length=limit)
    report = foretold(file, "verl")
    assert 0 < report.rows["cut"] == sum(n > limit for n in lengths) < file.rows
    bounded = {"max_prompt_length": limit}
    assert len(rl_dataset(file.path, byte_tokenizer(), **bounded)) == file.rows
    strict = rl_dataset(file.path, byte_tokenizer(), **bounded, filter_overlong_prompts=True)
    assert len(strict) == report.rows["kept"]
    assert foretold(exported(run, "rl.verl", tokenizer), "verl").limit == strict.config.max_response_length == 512


@pytest.mark.parametrize("method", ["decex", "decouple"])
def test_the_answers_alone_are_learned(run: Path, tokenizer: str, method: str):
    file = exported(run, "sft.verl", tokenizer, method=method)
    dataset = sft_dataset(file.path, byte_tokenizer(), max_length=1 << 20)
    assert len(dataset) == file.rows > 0
    for i, row in enumerate(load(file.path)):
        taken = dataset[i]
        learned = byte_tokenizer().decode(taken["input_ids"][taken["loss_mask"].bool()])
        assert learned == "".join(f"{t['content']}<|im_end|>\n" for t in row["messages"] if t["role"] == "assistant")


def test_long_conversations_are_refused_as_foretold(run: Path, tokenizer: str):
    file = exported(run, "sft.verl", tokenizer)
    report = foretold(file, "verl")
    dataset = sft_dataset(file.path, byte_tokenizer())
    assert dataset.max_length == report.limit == 1024
    refused = [i for i in range(len(dataset)) if not fits(dataset, i)]
    assert len(refused) == report.rows["refused"] > 0
    with pytest.raises(ValueError, match="larger than"):
        dataset[refused[0]]
