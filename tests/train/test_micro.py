"""New small models, and their files."""

from __future__ import annotations

from pathlib import Path

import espalier as esp
import pytest
import torch
import transformers
from espalier.local.grammar import Grammars
from espalier.train.gguf_file import write_gguf
from espalier.train.micro import hidden, new_model, new_tokenizer, size_of, width_for
from espalier.train.policy import load_policy
from espalier.train.source import source_of
from training import train_sft


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
    prompts = [
        esp.Prompt(f"Q: {q}\n(nothing yet)\n>", temperature=0.0, max_tokens=12) for q in ("Who?", "Where is it?")
    ]
    with esp.Transformers(trained, device="cpu") as one, esp.LlamaCpp(tmp_path / "model.gguf") as other:
        assert [reply.text for reply in one(prompts)] == [reply.text for reply in other(prompts)]
    with esp.LlamaCpp(trained / "model.gguf") as eight_bits:
        assert all(reply.completion_tokens for reply in eight_bits(prompts))
