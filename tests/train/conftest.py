"""Runs with rows, and a tiny model with a tokenizer of bytes."""

from pathlib import Path

import espalier
import pytest
import torch
import transformers
from espalier.export.byte_tokenizer import byte_tokenizer

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the simulated model with sft.jsonl and dpo.jsonl, whose prompts are short."""
    folder = tmp_path_factory.mktemp("run")
    prompts = folder / "prompts"
    prompts.mkdir()
    for purpose in ("rollout", "forced_answer", "termination", "next_question"):
        (prompts / f"{purpose}.txt").write_text("Q: {question}\n{history}>")
    espalier.write_world(folder, passages=200, questions=12, seed=5, max_hops=2)
    espalier.expand(
        questions=folder / "questions.jsonl", corpus=folder / "corpus.jsonl", prompts=prompts, out=folder / "run",
        method="decex", model="simulated", set={"documents": 1, "n": 2},
    )  # fmt: skip
    return folder / "run"


@pytest.fixture
def network() -> transformers.LlamaForCausalLM:
    """Two layers, 259 tokens: 256 bytes and three marks."""
    torch.manual_seed(7)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=259, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=2, max_position_embeddings=2048, eos_token_id=256, pad_token_id=256,
        )
    )  # fmt: skip


@pytest.fixture
def tiny(network: transformers.LlamaForCausalLM, tmp_path: Path) -> Path:
    """That model in a folder."""
    folder = tmp_path / "tiny"
    network.save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder
