"""Tokens per second of a GGUF file in this process: through our client, and by a bare loop of requests to the same
server, with the same slots and prompts. The rounds of the two take turns, and the medians are compared.

    python benchmarks/local_model.py MODEL.gguf [--slots 4] [--threads N] [--prompts 16] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import espalier as esp
from espalier.local.engine import key_variable

FACTS = "The river rises in the hills, flows through four towns and reaches the sea behind the old harbour. "
MAX_TOKENS = 32


def texts(prompts: int, turn: int) -> list[str]:
    """Prompts of about 200 tokens that begin in different ways, so that no slot has read one before."""
    return [f"Story {turn}-{i}. {FACTS * 10} How does story {turn}-{i} go on?" for i in range(prompts)]


def ours(model: esp.LlamaCpp, prompts: list[str]) -> int:
    asked = [esp.Prompt(text, temperature=0.7, max_tokens=MAX_TOKENS, seed=i) for i, text in enumerate(prompts)]
    replies = model(asked)
    return sum(reply.prompt_tokens + reply.completion_tokens for reply in replies)


def bare(model: esp.LlamaCpp, prompts: list[str]) -> int:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ[key_variable()]}"}

    def ask(seed: int, text: str) -> int:
        body = {
            "messages": [{"role": "user", "content": text}],
            "temperature": 0.7,
            "top_p": 1,
            "top_k": 0,
            "min_p": 0,
            "max_tokens": MAX_TOKENS,
            "seed": seed,
        }
        request = urllib.request.Request(f"{model.engine.url}/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=3600) as reply:
            return int(json.load(reply)["usage"]["total_tokens"])

    with ThreadPoolExecutor(2 * model.engine.slots) as threads:
        return sum(threads.map(ask, range(len(prompts)), prompts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--threads", type=int, default=0, help="of llama.cpp (half of the cores)")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rates: dict[str, list[float]] = {"ours": [], "bare": []}
    ways: dict[str, Callable[[esp.LlamaCpp, list[str]], int]] = {"ours": ours, "bare": bare}
    with esp.LlamaCpp(options.model, slots=options.slots, context=1024, threads=options.threads) as model:
        bare(model, texts(options.slots, 0))  # warm
        for turn in range(2 * options.rounds):
            name = list(ways)[turn % 2]
            prompts = texts(options.prompts, turn + 1)
            start = time.perf_counter()
            tokens = ways[name](model, prompts)
            rates[name].append(tokens / (time.perf_counter() - start))
            print(f"{name}: {rates[name][-1]:.1f} tokens/s", flush=True)
    middle = {name: statistics.median(found) for name, found in rates.items()}
    print(
        f"median: ours {middle['ours']:.1f}, bare {middle['bare']:.1f} tokens/s, {middle['ours'] / middle['bare']:.2f}"
    )


if __name__ == "__main__":
    main()
