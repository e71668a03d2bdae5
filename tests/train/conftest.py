"""Runs with rows, and a tiny model with a tokenizer of bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import espalier
import pytest
import torch
import transformers
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.train import dpo, sft

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


SMALL: dict[str, Any] = {"device": "cpu", "max_steps": 4, "batch_tokens": 4096, "lr": 1e-3, "log_every": 1, "threads": 1}


def train_sft(data: Path, model: Path | str, out: Path, **more: Any) -> Any:
    return sft(data=data, model=str(model), out=out, **{**SMALL, **more})


def train_dpo(data: Path, model: Path | str, out: Path, **more: Any) -> Any:
    return dpo(data=data, model=str(model), out=out, **{**SMALL, **more})


def weights_of(folder: Path) -> Mapping[str, torch.Tensor]:
    from safetensors.torch import load_file

    loaded: dict[str, torch.Tensor] = load_file(folder / "model.safetensors")
    return loaded


def same(a: Path, b: Path) -> bool:
    """Whether two folders hold equal weights, to the bit."""
    first, second = weights_of(a), weights_of(b)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def write_rows(folder: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def sft_row(prompt: str, completion: str, number: int = 0, **more: Any) -> dict[str, Any]:
    provenance = {"tree": f"q{number}", "nodes": [1], "method": "decex"}
    return {"id": f"q{number}#0", "prompt": prompt, "completion": completion, "provenance": provenance, **more}


def dpo_row(prompt: str, chosen: str, rejected: str, number: int = 0, **more: Any) -> dict[str, Any]:
    provenance = {"tree": f"q{number}", "chosen_node": 1, "rejected_node": 2, "margin": 0.5, "method": "decex"}
    texts = {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    return {"id": f"q{number}#1>2", "type": "execution", **texts, "provenance": provenance, **more}
