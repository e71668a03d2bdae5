"""Files in verl's data sets, with the options of the configurations that it ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import verl
from omegaconf import OmegaConf
from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset
from verl.utils.dataset.rl_dataset import RLHFDataset

from .verify import Verified, load, no_taker, own_cache, tokenizer_called

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


def verify_file(file: Path, tokenizer: str | None, max_length: int | None) -> list[Verified]:
    data = load(file)
    coder = tokenizer_called(tokenizer)
    with own_cache():
        if {"data_source", "prompt", "reward_model"} <= set(data.column_names):
            dataset = rl_dataset(file, coder, **({} if max_length is None else {"max_prompt_length": max_length}))
            taken = sum(1 for row in range(len(dataset)) if dataset[row]["raw_prompt"])
        elif "messages" in data.column_names and file.suffix == ".parquet":
            dataset = sft_dataset(file, coder, **({} if max_length is None else {"max_length": max_length}))
            taken = sum(fits(dataset, row) for row in range(len(dataset)))
        else:
            raise no_taker(file, "verl", data.column_names)
    return [Verified(file, f"{type(dataset).__name__} of verl {verl.__version__}", len(data), taken)]
