"""New small models: a Llama from random weights, with a tokenizer that is trained on the rows."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import tokenizers
import torch
import transformers

VOCABULARY = 2048
"""Tokens of the tokenizer, without the marks."""
PAD, END = "<pad>", "<eos>"
TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
)
"""What is said, one text behind the other, and an end behind what the model says. There are no instructions."""
MARK = re.compile(r"</?[a-z_]+>")
STEP = 32
"""Width of an attention head. Each layer more goes with one head more."""
CONTEXT = 1024


def size_of(width: int, vocabulary: int) -> int:
    """Parameters of the model that is so wide: an embedding which is also the output, and width / 32 layers."""
    layers = width // STEP
    return vocabulary * width + layers * (4 * width**2 + 3 * width * hidden(width) + 2 * width) + width


def hidden(width: int) -> int:
    """The inner width of a layer's network, 8/3 of the width as in Llama, in whole steps."""
    return -(-8 * width // 3 // STEP) * STEP


def width_for(parameters: int, vocabulary: int) -> int:
    """The width whose model comes nearest to a number of parameters."""
    return min(range(2 * STEP, 1025, STEP), key=lambda width: abs(size_of(width, vocabulary) - parameters))


def new_tokenizer(texts: Sequence[str], most: int = 20_000) -> Any:
    """A byte-level BPE tokenizer of every n-th text, `most` of them: more do not change a small vocabulary. The marks
    that stand in the texts, such as `<search>`, are tokens of their own."""
    texts = texts[:: max(1, -(-len(texts) // most))]
    marks = Counter(mark for text in texts for mark in set(MARK.findall(text)))
    raw = tokenizers.Tokenizer(tokenizers.models.BPE())
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(MARK.pattern), "isolated"),
            tokenizers.pre_tokenizers.Split("\n", "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    raw.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, END],
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    raw.train_from_iterator(texts, trainer)
    often = sorted(mark for mark, rows in marks.items() if 10 * rows >= len(texts))
    raw.add_tokens([tokenizers.AddedToken(mark, normalized=False) for mark in often])
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=END, pad_token=PAD)
    made.chat_template = TEMPLATE
    made.clean_up_tokenization_spaces = False
    return made


def new_model(parameters: int, tokenizer: Any, seed: int, context: int) -> Any:
    """A Llama of about so many parameters with random weights that depend on the seed alone."""
    width = width_for(parameters, len(tokenizer))
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=hidden(width),
        num_hidden_layers=width // STEP,
        num_attention_heads=width // STEP,
        num_key_value_heads=width // STEP,
        max_position_embeddings=context or CONTEXT,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.LlamaForCausalLM(config)
