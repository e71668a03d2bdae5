"""`train sft` from rows to a model, its weighted loss with numbers worked out by hand, and new small models."""

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
import transformers
from espalier.errors import InputError
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.reader import read_product
from espalier.export.tokenizer import Tokenizer
from espalier.local.grammar import Grammars
from espalier.train.batches import LengthBatches, amount, collate, weighted_nll
from espalier.train.data import Row
from espalier.train.examples import Example, held_out
from espalier.train.gguf_file import write_gguf
from espalier.train.micro import hidden, new_model, new_tokenizer, size_of, width_for
from espalier.train.options import SftOptions
from espalier.train.policy import load_policy
from espalier.train.source import source_of
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


def test_a_loss_that_is_no_number_is_in_no_record(run, tiny, tmp_path, monkeypatch):
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
        "model.safetensors", "config.json", "tokenizer.json", "training.json", "README.md", "metrics.jsonl",
    }  # fmt: skip
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


class Fixed:
    """Says the same logits at every place."""

    def __init__(self, logits: list[float]) -> None:
        self.logits = torch.tensor(logits)

    def __call__(self, input_ids: torch.Tensor, logits_to_keep: int, **_: Any) -> Any:
        return SimpleNamespace(logits=self.logits.expand(len(input_ids), logits_to_keep, -1))


def test_the_loss_of_two_tokens_is_that_of_the_formula():
    """p = (1/4, 3/4). Token 0 with weight 2 and token 1 with weight 1: 2 ln 4 + ln 4/3 = 3.0602, 1.5301, 1.0201."""
    model = Fixed([0.0, math.log(3)])
    ids, weights = torch.tensor([[1, 0, 1]]), torch.tensor([[0.0, 2.0, 1.0]])
    total = weighted_nll(model, ids, weights)
    assert total.item() == pytest.approx(2 * math.log(4) + math.log(4 / 3), abs=1e-6)
    assert amount(weights, "tokens").item() == 2 and amount(weights, "weights").item() == 3
    assert (total / amount(weights, "tokens")).item() == pytest.approx(1.530136, abs=1e-5)
    assert (total / amount(weights, "weights")).item() == pytest.approx(1.020091, abs=1e-5)


def test_weights_of_one_are_the_plain_loss_of_transformers(network):
    torch.manual_seed(1)
    ids = torch.randint(0, 256, (3, 20))
    weights = torch.ones(3, 20)
    weights[:, :6] = 0
    labels = ids.masked_fill(weights == 0, -100)
    plain = network(input_ids=ids, labels=labels).loss
    ours = weighted_nll(network, ids, weights) / amount(weights, "tokens")
    assert ours.item() == pytest.approx(plain.item(), abs=1e-6)


def test_rows_that_begin_their_loss_at_different_places_lose_nothing(network):
    torch.manual_seed(2)
    ids, weights = torch.randint(0, 256, (2, 12)), torch.zeros(2, 12)
    weights[0, 9], weights[1, 3:5] = 2.0, 0.5
    logs = torch.log_softmax(network(input_ids=ids).logits, -1)
    nll = -logs[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
    assert weighted_nll(network, ids, weights).item() == pytest.approx((nll * weights[:, 1:]).sum().item(), abs=1e-4)


def test_padding_changes_no_loss(network):
    rows = [Example("a", [5, 6, 7], [0, 1, 1]), Example("b", list(range(9)), [0.0] * 4 + [1.0] * 5)]
    together = collate(rows, pad=256)
    apart = sum(weighted_nll(network, *collate([row], pad=256).values()).item() for row in rows)
    assert weighted_nll(network, together["input_ids"], together["weights"]).item() == pytest.approx(apart, abs=1e-4)


def test_what_documents_say_is_not_learned(network):
    """The logits that predict a document's tokens get no gradient, and what follows them does."""
    torch.manual_seed(3)
    ids, weights = torch.randint(0, 256, (1, 12)), torch.ones(1, 12)
    weights[0, 4:9] = 0
    kept: list[torch.Tensor] = []

    def keep(module: Any, args: Any, out: torch.Tensor) -> None:
        out.retain_grad()
        kept.append(out)

    handle = network.lm_head.register_forward_hook(keep)
    weighted_nll(network, ids, weights).backward()
    handle.remove()
    touched = kept[0].grad[0].abs().sum(-1) > 0
    assert [i + 1 for i, one in enumerate(touched.tolist()) if one] == [1, 2, 3, 9, 10, 11]


def test_a_row_without_a_loss_is_worth_nothing(network):
    assert weighted_nll(network, torch.tensor([[1, 2]]), torch.zeros(1, 2)).item() == 0


def test_batches_hold_every_row_once_within_the_limit():
    lengths = [3, 50, 7, 7, 8, 120, 9, 30]
    batches = LengthBatches(lengths, tokens=60, seed=1)
    assert sorted(i for batch in batches for i in batch) == list(range(8)) and len(batches) == len(list(batches))
    assert all(len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= 60 for batch in batches)
    first = list(batches)
    assert first == list(batches) == list(LengthBatches(lengths, 60, 1))
    batches.set_epoch(1)
    assert sorted(map(sorted, first)) == sorted(map(sorted, batches))


def test_a_share_of_the_questions_is_held_out():
    drawn = [held_out(f"0:q{i}", 0.1, 1) for i in range(4000)]
    assert 300 < sum(drawn) < 500 and not any(held_out(f"0:q{i}", 0.0, 1) for i in range(100))


@pytest.mark.parametrize(("wanted", "width"), [(200_000, 64), (1_000_000, 128), (5_000_000, 224), (10_000_000, 288)])
def test_a_size_decides_the_shape(wanted: int, width: int):
    assert width_for(wanted, 2056) == width
    assert abs(size_of(width, 2056) - wanted) < 0.2 * wanted


def test_the_size_that_is_reckoned_is_the_models():
    tokenizer = new_tokenizer(["<think> a thought </think>\n<answer> it </answer>"] * 3)
    model = new_model(500_000, tokenizer, 1, 256)
    width = model.config.hidden_size
    assert size_of(width, len(tokenizer)) == sum(one.numel() for one in model.parameters())
    assert hidden(128) == 352


def test_marks_are_tokens_and_a_chat_is_the_bare_text(tmp_path: Path):
    row = "Q: Who?\n><think> Next </think>\n<search> Österreich 東京 </search>"
    tokenizer = new_tokenizer([row] * 3)
    assert {"<think>", "</think>", "<search>", "</search>"} <= tokenizer.get_vocab().keys()
    ids = tokenizer("<think> Next </think>")["input_ids"]
    assert ids[0] == tokenizer.get_vocab()["<think>"] and ids[-1] == tokenizer.get_vocab()["</think>"]
    assert tokenizer.decode(tokenizer(row)["input_ids"]) == row
    turns = [{"role": "user", "content": "Q: Who?\n>"}]
    assert tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True) == "Q: Who?\n>"
    turns.append({"role": "assistant", "content": "x"})
    assert tokenizer.apply_chat_template(turns, tokenize=False) == "Q: Who?\n>x<eos>"
    new_model(200_000, tokenizer, 1, 256).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert again(row)["input_ids"] == tokenizer(row)["input_ids"] and again.eos_token == "<eos>"


def test_a_grammar_allows_the_marks_that_are_tokens():
    tokenizer = new_tokenizer(["<think> ab </think>\n<answer> it </answer>"] * 3)
    grammars = Grammars(tokenizer, len(tokenizer) + 5)
    matcher = grammars.matcher('root ::= "<think> " [a-z ]+ "</think>"')
    mask = grammars.mask([matcher], torch.device("cpu"))
    assert mask[0].nonzero().flatten().tolist() == [tokenizer.get_vocab()["<think>"]]
    for token in tokenizer("<think> ab </think>")["input_ids"]:
        assert grammars.mask([matcher], torch.device("cpu"))[0, token] and matcher.consume_token(token)
    mask = grammars.mask([matcher], torch.device("cpu"))
    assert mask[0].nonzero().flatten().tolist() == [tokenizer.eos_token_id]


@pytest.fixture(scope="module")
def trained(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("micro")
    train_sft(run, "micro:200K", out, max_steps=12, gguf="q8_0", context_weight=0.2, max_length=1024)
    return out


def test_a_gguf_file_gives_the_same_logits(trained: Path, tmp_path: Path):
    """Written at 16 bits and read back by transformers."""
    model = transformers.LlamaForCausalLM.from_pretrained(trained).half().float()
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained)
    write_gguf(tmp_path / "model.gguf", model, tokenizer, "f16")
    policy = load_policy(source_of(f"gguf:{tmp_path / 'model.gguf'}"), list, seed=1)
    text = "Q: Who wrote it?\n><think> Next </think>"
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    assert policy.tokenizer.encode(text, special=False)[0] == ids[0].tolist()
    with torch.no_grad():
        assert torch.allclose(policy.model(input_ids=ids).logits, model(input_ids=ids).logits, atol=1e-4)


def test_what_a_gguf_file_became_is_trained_again(run: Path, trained: Path, tmp_path: Path):
    """transformers adds a token <|endoftext|> to the tokenizer of such a file, which the model does not have."""
    first = train_sft(run, f"gguf:{trained / 'model.gguf'}", tmp_path / "first", max_steps=1).out
    second = train_sft(run, first, tmp_path / "second", max_steps=1).out
    sizes = {len(transformers.AutoTokenizer.from_pretrained(folder)) for folder in (trained, first, second)}
    assert sizes == {transformers.LlamaConfig.from_pretrained(trained).vocab_size}


def test_llama_cpp_says_the_same(trained: Path, tmp_path: Path):
    pytest.importorskip("xllamacpp")
    assert (trained / "model.gguf").stat().st_size < (trained / "model.safetensors").stat().st_size / 2
    model = transformers.LlamaForCausalLM.from_pretrained(trained).half().float()
    write_gguf(tmp_path / "model.gguf", model, transformers.AutoTokenizer.from_pretrained(trained), "f16")
    texts = [f"Q: {question}\n(nothing yet)\n>" for question in ("Who?", "Where is it?")]
    prompts = [esp.Prompt(text, temperature=0.0, max_tokens=12) for text in texts]
    with esp.Transformers(trained, device="cpu") as one, esp.LlamaCpp(tmp_path / "model.gguf") as other:
        assert [reply.text for reply in one(prompts)] == [reply.text for reply in other(prompts)]
    with esp.LlamaCpp(trained / "model.gguf") as eight_bits:
        assert all(reply.completion_tokens for reply in eight_bits(prompts))
