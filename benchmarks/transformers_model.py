"""Tokens per second of `espalier.Transformers` and of plain `generate` at the same batch, on a model with random
weights, and the share of samples that are equal alone and in the batch.

    python benchmarks/transformers_model.py [--rows 256] [--tokens 64] [--width 896] [--layers 24] [--vocabulary 151936]
"""

from __future__ import annotations

import argparse
import statistics
import time
from types import SimpleNamespace
from typing import Any

import espalier as esp
import torch
from espalier.export.byte_tokenizer import byte_tokenizer
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

TEXT = "The river rises in the hills, flows through four towns and reaches the sea behind the harbour. " * 5


def network(options: argparse.Namespace, device: str) -> LlamaForCausalLM:
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=options.vocabulary,
        hidden_size=options.width,
        intermediate_size=4 * options.width,
        num_hidden_layers=options.layers,
        num_attention_heads=options.width // 64,
        num_key_value_heads=max(1, options.width // 448),
        max_position_embeddings=4096,
        eos_token_id=None,
    )
    model = LlamaForCausalLM(config).to(device, torch.float32 if device == "cpu" else torch.bfloat16).eval()
    model.generation_config.eos_token_id = None
    return model


def asked(row: int, tokens: int) -> Any:
    """A prompt that never stops early; four samples share each text."""
    messages = [{"role": "user", "content": f"{row // 4}. {TEXT}"}]
    fields = {"temperature": 0.7, "top_p": 1.0, "stop": [], "logprobs": False, "token_logprobs": False}
    return SimpleNamespace(messages=messages, max_tokens=tokens, seed=1, sample=row, **fields)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("rows", 256), ("tokens", 64), ("width", 896), ("layers", 24), ("vocabulary", 151_936)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, tokenizer = network(options, device), byte_tokenizer()
    tokenizer.eos_token = None
    prompts = [asked(row, options.tokens) for row in range(options.rows)]
    ours = esp.Transformers(model, tokenizer, batch=options.rows, chat=False)
    config = GenerationConfig(
        max_new_tokens=options.tokens, do_sample=True, temperature=0.7, top_k=0, pad_token_id=0, eos_token_id=None
    )
    ids = tokenizer([p.messages[0]["content"] for p in prompts], padding=True, padding_side="left", return_tensors="pt")

    def plain() -> None:
        with torch.inference_mode():
            model.generate(**ids.to(device), generation_config=config)

    seconds: dict[str, list[float]] = {"ours": [], "generate": []}
    for turn in range(4):  # the first of each only warms up
        for name, run in (("ours", lambda: ours(prompts)), ("generate", plain)):
            start = time.perf_counter()
            run()
            if device == "cuda":
                torch.cuda.synchronize()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    written = options.rows * options.tokens
    rates = {name: written / statistics.median(found) for name, found in seconds.items()}
    print(
        f"{device}, {options.rows} rows: ours {rates['ours']:,.0f}, generate {rates['generate']:,.0f} tokens/s, "
        f"{rates['ours'] / rates['generate']:.2f}"
    )
    few = prompts[:: max(1, options.rows // 8)][:8]
    together = {prompt.sample: reply.text for prompt, reply in zip(prompts, ours(prompts), strict=True)}
    equal = sum(ours([prompt])[0].text == together[prompt.sample] for prompt in few)
    print(f"equal alone and in the batch: {equal} of {len(few)}")


if __name__ == "__main__":
    main()
