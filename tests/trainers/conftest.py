"""Recorded runs whose rows are exported, and the tokenizer of bytes that counts them."""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import espalier
import pytest
from espalier.export.byte_tokenizer import byte_tokenizer

if find_spec("llamafactory") and not find_spec("torchaudio"):
    # LLaMA-Factory imports it for sounds alone, and the package index has it for CUDA alone: an empty one in its place.
    sys.modules["torchaudio"] = module_from_spec(ModuleSpec("torchaudio", None))


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tokenizer")
    byte_tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs: decex (prompts with completions, pairs) and decouple (conversations with documents)."""
    folder = tmp_path_factory.mktemp("runs")
    espalier.write_world(folder, passages=300, questions=6, seed=5)
    inputs = {"questions": folder / "questions.jsonl", "corpus": folder / "corpus.jsonl"}
    for method in ("decex", "decouple"):
        espalier.expand(**inputs, out=folder / method, method=method, model="simulated")
    return folder


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The datasets library keeps what it makes of files in this folder, and nothing of it stays."""
    import datasets

    datasets.disable_progress_bars()
    datasets.config.HF_DATASETS_CACHE = tmp_path_factory.mktemp("cache")
