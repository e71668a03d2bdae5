"""`train sft` from rows to a model."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import espalier as esp
import pytest
import torch
from espalier.errors import InputError
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.reader import read_product
from espalier.export.tokenizer import Tokenizer
from espalier.train.data import Row
from espalier.train.options import SftOptions
from espalier.train.stages.sft import example_of
from espalier.train.trainer import OwnLoss
from training import same, sft_row, train_dpo, train_sft, weights_of, write_rows


def options(**more: object) -> SftOptions:
    return SftOptions(data="d", model="m", out="o", **more)


def test_what_the_model_says_is_learned_token_by_token(run: Path):
    tokenizer = Tokenizer.of(byte_tokenizer(), "bytes")
    for row in read_product(run, "sft"):
        example = example_of(row, tokenizer, options())
        said = bytes(i for i, w in zip(example.ids, example.weights, strict=True) if w and i < 256)
        symbols = byte_tokenizer().decode([i for i, w in zip(example.ids, example.weights, strict=True) if w])
        assert symbols == row.messages[1].content + "<|im_end|>" and "Docs" not in symbols, said


def test_control_tokens_weigh_what_is_asked(tmp_path: Path):
    row = sft_row("Q", "ab", weights=[[1, 2, 5.0]])
    [dialogue] = read_product(write_rows(tmp_path, "sft", [row]), "sft")
    tokenizer = Tokenizer.of(byte_tokenizer(), "bytes")
    assert [w for w in example_of(dialogue, tokenizer, options()).weights if w] == [1, 5, 1]
    assert [w for w in example_of(dialogue, tokenizer, options(control_weight=2.0)).weights if w] == [1, 2, 1]
    assert [w for w in example_of(dialogue, tokenizer, options(control_weight=1.0)).weights if w] == [1, 1, 1]
    context = example_of(dialogue, tokenizer, options(context_weight=0.25))
    assert sorted(set(context.weights)) == [0.25, 1, 5]


def test_another_product_is_learned_by_its_file(tmp_path: Path, tiny: Path):
    """ProRAG's first stage learns the rows of cold_start.jsonl."""
    data = write_rows(tmp_path / "data", "cold_start", [sft_row("Q", "yes")])
    with pytest.raises(InputError, match=r"there is no sft.jsonl in this folder"):
        train_sft(data, tiny, tmp_path / "out")
    assert train_sft(data / "cold_start.jsonl", tiny, tmp_path / "out", max_steps=1).steps == 1
    with pytest.raises(InputError, match=r"notes.txt: is no file of rows, which are "):
        (data / "notes.txt").write_text("hm")
        train_sft(data / "notes.txt", tiny, tmp_path / "other")


def test_questions_are_held_out_together_whatever_run_they_stand_in():
    origin = SimpleNamespace(tree="q1")
    assert Row(SimpleNamespace(origin=origin), 0).question == Row(SimpleNamespace(origin=origin), 1).question


def test_a_row_has_a_weight_of_its_own(tmp_path: Path):
    [dialogue] = read_product(write_rows(tmp_path, "sft", [sft_row("Q", "ab", weight=3)]), "sft")
    assert [w for w in example_of(dialogue, Tokenizer.of(byte_tokenizer(), "b"), options()).weights if w] == [3, 3, 3]


def test_batches_of_any_size_make_the_step_of_one_large_batch(tmp_path: Path, tiny: Path):
    rows = [sft_row("Q" * 3 * i, "answer " * (1 + i % 5), i) for i in range(8)]
    data = write_rows(tmp_path / "data", "sft", rows)
    train_sft(data, tiny, tmp_path / "one", max_steps=1, warmup=0.0, batch_tokens=100_000)
    train_sft(data, tiny, tmp_path / "many", max_steps=1, warmup=0.0, batch_tokens=1, accumulate=8)
    one, many = weights_of(tmp_path / "one"), weights_of(tmp_path / "many")
    begun = weights_of(tiny)
    moved = torch.cat([(one[name] - begun[name]).flatten() for name in one])
    apart = torch.cat([(one[name] - many[name]).flatten() for name in one])
    assert moved.abs().max() > 5e-4
    # The first step of Adam is lr * g / (|g| + eps): a gradient near 0 is as much noise as it is.
    assert (apart.abs() > 1e-5).float().mean() < 1e-3


def test_the_rate_rises_from_the_first_step_on(run: Path, tiny: Path, tmp_path: Path):
    """Eight steps, of which two rise and four fall."""
    train_sft(run, tiny, tmp_path / "out", max_steps=8, warmup=0.25, decay=0.5, lr=8e-4, max_length=2048)
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    rates = [line["lr"] for line in lines if "lr" in line]
    assert rates == pytest.approx([4e-4, 8e-4, 8e-4, 8e-4, 8e-4, 6e-4, 4e-4, 2e-4])
    train_sft(run, tiny, tmp_path / "one", max_steps=1, max_length=2048)
    assert not same(tiny, tmp_path / "one")


def test_a_loss_that_is_no_number_is_in_no_record(
    run: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(OwnLoss, "evaluate", lambda self, *args, **more: self.log({"eval_loss": math.inf}))
    trained = train_sft(run, tiny, tmp_path / "out", eval_share=0.3, max_steps=1)
    assert trained.loss and trained.eval_loss is None
    record = json.loads((tmp_path / "out" / "training.json").read_text(), parse_constant=pytest.fail)
    assert record["eval_loss"] is None


def test_a_training_leaves_a_model_with_its_figures(run: Path, tiny: Path, tmp_path: Path):
    out = tmp_path / "out"
    trained = train_sft(run, tiny, out, eval_share=0.3)
    assert trained.steps == 4 and trained.loss and trained.eval_loss
    names = {file.name for file in out.iterdir() if not file.name.startswith(".")}
    assert names >= {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "training.json",
        "README.md",
        "metrics.jsonl",
    }
    assert not (out / "checkpoints").exists()
    record = json.loads((out / "training.json").read_text())
    assert record["simulated"] and record["lengths"]["rows"] == len((run / "sft.jsonl").read_text().splitlines())
    assert "**Simulated data:**" in (out / "README.md").read_text()
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == [1, 2, 3, 4]
    with esp.Transformers(out, device="cpu") as model:
        [reply] = model([esp.Prompt("Q: who?", temperature=0.0, max_tokens=4)])
        assert reply.completion_tokens
    again = train_sft(run, tiny, out, eval_share=0.3)
    assert again.recognised and again.loss == trained.loss
    with pytest.raises(InputError, match=r"another 'lr' \(0.001, not 0.002\)"):
        train_sft(run, tiny, out, eval_share=0.3, lr=2e-3)
    assert not train_sft(run, tiny, out, lr=2e-3, overwrite=True).recognised


def test_the_same_seed_gives_the_same_model(run: Path, tmp_path: Path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_sft(run, "micro:200K", tmp_path / name, max_steps=2, seed=seed, max_length=1024)
    assert same(tmp_path / "a", tmp_path / "b")
    a, c = weights_of(tmp_path / "a"), weights_of(tmp_path / "c")
    assert not torch.equal(a["model.norm.weight"], c["model.norm.weight"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("train", [train_dpo, train_sft])
def test_a_training_warns_of_nothing(train: Any, run: Path, tiny: Path, tmp_path: Path):
    train(run, tiny, tmp_path / "out", max_steps=1, lora=2, max_length=2048)


def test_weights_may_be_read_by_those_who_may_read_the_other_files(run: Path, tiny: Path, tmp_path: Path):
    before = os.umask(0o027)
    try:
        train_sft(run, tiny, tmp_path / "out", max_steps=1, max_length=2048)
    finally:
        os.umask(before)
    assert (tmp_path / "out" / "model.safetensors").stat().st_mode & 0o777 == 0o640


def test_adapters_are_merged(run: Path, tiny: Path, tmp_path: Path):
    train_sft(run, tiny, tmp_path / "lora", lora=4)
    before, after = weights_of(tiny), weights_of(tmp_path / "lora")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(re.search("proj", name) for name in changed)
