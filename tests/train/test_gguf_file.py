"""The GGUF file of a model with another family's tokenizer: llama.cpp splits texts as the tokenizer does."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
import tokenizers
import transformers
from espalier.errors import InputError
from espalier.export.byte_tokenizer import MARKS, TEMPLATE
from espalier.train.gguf_file import BYTES, SPLITS, WORDS, check_gguf, in_turn, isolated, write_gguf
from espalier.train.policy import load_policy
from espalier.train.source import source_of

TOKENS = {"llama-bpe": 3, "qwen2": 4, "smollm": 4, "gpt-2": 2}
"""By llama.cpp's name of a split: the number of tokens of 0123 where 12 and 123 are merges."""


def tokenizer_of(pre: Mapping[str, Any], **model: Any) -> Any:
    """Bytes, three merges and the marks of a chat. `model` is what tokenizer.json says of the merges besides."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: i for i, symbol in enumerate([*alphabet, "12", "123", "ab", *MARKS])}
    raw = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[("1", "2"), ("12", "3"), ("a", "b")]))
    raw.decoder = tokenizers.decoders.ByteLevel()
    described = json.loads(raw.to_str())
    described["pre_tokenizer"] = pre
    described["model"] |= model
    raw = tokenizers.Tokenizer.from_str(json.dumps(described))
    marks = {"eos_token": MARKS[0], "pad_token": MARKS[0], "additional_special_tokens": MARKS[1:]}
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **marks)
    made.chat_template = TEMPLATE
    return made


def network() -> Any:
    config = transformers.LlamaConfig(
        vocab_size=262, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=256, eos_token_id=259, pad_token_id=259,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


@pytest.mark.parametrize("name", TOKENS)
def test_llama_cpp_splits_a_text_as_the_tokenizer_does(name: str, tmp_path: Path):
    tokenizer = tokenizer_of(SPLITS[name], ignore_merges=name == "llama-bpe")
    assert len(tokenizer("0123")["input_ids"]) == TOKENS[name]
    model = network()
    write_gguf(tmp_path / "model.gguf", model, tokenizer, "f16")
    [said] = bytes_of(tmp_path / "model.gguf", "tokenizer.ggml.pre")
    assert said == name
    again = load_policy(source_of(f"gguf:{tmp_path / 'model.gguf'}"), list, seed=1)
    for text in ("0123", "x 01234 ab12", "It's\n\n0123 ."):
        assert again.tokenizer.encode(text, special=False)[0] == tokenizer(text)["input_ids"]
    pytest.importorskip("xllamacpp")
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    prompts = [esp.Prompt(text, temperature=0.0, max_tokens=1) for text in ("0123", "x 01234 ab12", "It's\n\n0123 .")]
    with esp.LlamaCpp(tmp_path / "model.gguf") as engine:
        counted = [reply.prompt_tokens for reply in engine(prompts)]
    assert counted == [turn(tokenizer, prompt.messages[-1]["content"]) for prompt in prompts]


def turn(tokenizer: Any, text: str) -> int:
    """The tokens of a prompt."""
    said = [{"role": "user", "content": text}]
    asked = tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
    return len(tokenizer(asked)["input_ids"])


def bytes_of(file: Path, field: str) -> list[str]:
    import gguf

    found = gguf.GGUFReader(file).fields[field]
    return [bytes(found.parts[at]).decode() for at in found.data]


@pytest.mark.parametrize(
    ("pre", "model"),
    [
        (in_turn({"type": "Digits", "individual_digits": False}, WORDS), {}),
        (in_turn(isolated(Regex=r"\p{N}{1,2}"), BYTES), {}),
        ({"type": "Whitespace"}, {}),
        ({**WORDS, "add_prefix_space": True}, {}),
        (SPLITS["llama-bpe"], {"ignore_merges": False}),
        (WORDS, {"ignore_merges": True}),
    ],
)
def test_a_tokenizer_that_llama_cpp_would_not_follow_is_refused(pre: dict[str, Any], model: dict[str, Any]):
    with pytest.raises(InputError, match=r"option 'gguf': the tokenizer splits texts in a way that is unknown here"):
        check_gguf(network(), tokenizer_of(pre, **model))
