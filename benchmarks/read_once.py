"""Prompt tokens that are read in a run of DecEx-RAG: by llama.cpp for our client, and by llama.cpp and a simulated
radix cache (vLLM, SGLang) for the same requests in four orders. "x tree" is their ratio to the prefix tree of all
prompts, the least that can be read.

    python benchmarks/read_once.py MODEL.gguf [--questions 4] [--slots 8] [--prompts DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, pairwise, zip_longest
from pathlib import Path
from typing import Any

import espalier as esp
from espalier.local.engine import key_variable

SETTINGS = {"form": "policy", "k": 4, "n": 4, "temperature": 1, "documents": 2, "max_tokens": 96}


def post(url: str, body: dict[str, Any] | None = None) -> bytes:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ[key_variable()]}"}
    request = urllib.request.Request(url, body and json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=3600) as reply:
        return bytes(reply.read())


def read_so_far(model: esp.LlamaCpp) -> int:
    """Prompt tokens that the server has computed since it started."""
    lines = post(model.engine.url.removesuffix("/v1") + "/metrics").decode().splitlines()
    return next(int(float(line.split()[1])) for line in lines if line.startswith("llamacpp:prompt_tokens_total"))


def requests_of(journal: Path) -> list[dict[str, Any]]:
    """The requests of a journal in their order, one for each sample."""
    with sqlite3.connect(journal) as db:
        rows = db.execute(
            "SELECT json, seed + sample FROM record JOIN request ON request = request_id ORDER BY record.id"
        ).fetchall()
    return [{**json.loads(text), "seed": seed & 0x7FFFFFFF} for text, seed in rows if b"messages" in bytes(text)]


def common(a: list[int], b: list[int]) -> int:
    """The length of the prefix that both have."""
    places = (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(places, min(len(a), len(b)))


Tokens = list[int]
Message = tuple[Tokens, dict[str, Any]]


def tokens_of(model: esp.LlamaCpp, request: dict[str, Any]) -> Tokens:
    address = model.engine.url[: -len("/v1")]
    text = json.loads(post(f"{address}/apply-template", {"messages": request["messages"]}))["prompt"]
    asked = {"content": text, "add_special": True, "parse_special": True}
    return list(json.loads(post(f"{address}/tokenize", asked))["tokens"])


def prefix_tree(prompts: list[Tokens]) -> int:
    """The tokens of the prefix tree of prompts."""
    ordered = sorted(prompts)
    return sum(map(len, ordered)) - sum(common(a, b) for a, b in pairwise(ordered))


def orders(samples: list[Message], questions: int) -> dict[str, list[list[Message]]]:
    """Lanes of messages: what stands in one goes one after the other. Depth-first each question has one: they are cut
    where neighbours share least."""
    groups = [list(group) for _, group in groupby(samples, key=lambda sample: sample[0])]
    together = [(group[0][0], group[0][1] | {"n": len(group)}) for group in groups]
    siblings = sorted(together, key=lambda message: (str(message[1]["messages"]).count("<search>"), message[0]))
    deep = sorted(together, key=lambda message: message[0])
    shared = [common(a[0], b[0]) for a, b in pairwise(deep)]
    cuts = sorted(sorted(range(1, len(deep)), key=lambda place: shared[place - 1])[: questions - 1])
    alone = {"one by one": samples, "with n": together, "with n, siblings": siblings}
    apart = {name: [[message] for message in order] for name, order in alone.items()}
    return apart | {"with n, depth-first": [deep[i:j] for i, j in pairwise([0, *cuts, len(deep)])]}


def sent_again(model: esp.LlamaCpp, order: list[list[Message]]) -> None:
    """Two lanes for each slot are under way."""
    with ThreadPoolExecutor(2 * model.engine.slots) as threads:
        url = f"{model.engine.url}/chat/completions"
        list(threads.map(lambda lane: [post(url, body) for _, body in lane], order))


def read_by_radix(order: list[list[Message]], at_once: int, room: int) -> int:
    """What a server with one cache for all prompts reads, whose oldest ones go where it has no room. What is under way
    together is in no cache yet."""
    cache: list[Tokens] = []
    read = 0
    for place in range(0, len(order), at_once):
        for step in zip_longest(*order[place : place + at_once]):
            batch = [message[0] for message in step if message]
            read += sum(len(one) - max((common(one, kept) for kept in cache), default=0) for one in batch)
            cache += batch
            while prefix_tree(cache) > room:
                cache.pop(0)
    return read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--prompts", help="a folder of prompts in place of the built-in ones")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world"
        esp.write_world(world, passages=300, questions=options.questions, seed=1)
        asked: dict[str, Any] = {"method": "decex", "constrain": "off", "set": SETTINGS, "prompts": options.prompts}
        asked |= {name: world / f"{name}.jsonl" for name in ("questions", "corpus")}
        with esp.LlamaCpp(options.model, slots=options.slots, context=1024) as model:
            start = time.perf_counter()
            run = esp.expand(**asked, model=model, out=Path(folder) / "run")
            took = time.perf_counter() - start
            told = sum(one["read"] for one in run.summary["prompt_cache"].values())
            assert told == read_so_far(model)
            samples = [(tokens_of(model, request), request) for request in requests_of(run.out / "journal.sqlite")]
        tree = prefix_tree([tokens for tokens, _ in samples])
        print(f"{len(samples)} samples, {options.slots} slots, prefix tree of the prompts: {tree:,} tokens\n")
        print(f"{'':20}{'llama.cpp':>10}{'x tree':>8}{'s':>7}{'radix':>10}{'x tree':>8}")
        print(f"{'our client':20}{told:10,}{told / tree:8.2f}{took:7.1f}")
        for name, order in orders(samples, options.questions).items():
            with esp.LlamaCpp(options.model, slots=options.slots, context=1024) as model:
                start = time.perf_counter()
                sent_again(model, order)
                took, read = time.perf_counter() - start, read_so_far(model)
            radix = read_by_radix(order, options.slots, options.slots * 1024)
            print(f"{name:20}{read:10,}{read / tree:8.2f}{took:7.1f}{radix:10,}{radix / tree:8.2f}")


if __name__ == "__main__":
    main()
