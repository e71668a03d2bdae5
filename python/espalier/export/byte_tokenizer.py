"""A tokenizer that needs no download: one token per byte, with the marks of a chat."""

from __future__ import annotations

from typing import Any

TEMPLATE = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "{% for call in message['tool_calls'] or [] %}{{ '\n<tool_call>' }}{{ call['function'] | tojson }}</tool_call>"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def byte_tokenizer() -> Any:
    """A tokenizer of the transformers library. 256 to 258 are its marks, the first of which ends a text."""
    import tokenizers
    import transformers

    bytes_ = tokenizers.pre_tokenizers.ByteLevel
    vocabulary = {symbol: i for i, symbol in enumerate([*sorted(bytes_.alphabet()), *MARKS])}
    raw = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    raw.pre_tokenizer = bytes_(add_prefix_space=False)
    raw.decoder = tokenizers.decoders.ByteLevel()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token=MARKS[0], pad_token=MARKS[0], additional_special_tokens=MARKS[1:]
    )
    made.chat_template = TEMPLATE
    return made
