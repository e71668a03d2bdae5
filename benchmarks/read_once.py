"""Prompt tokens that llama.cpp reads in a run of DecEx-RAG: by our client, which sends samples of a prompt together,
and one by one, as they would be sent without that. Beside both stands the prefix tree of all prompts: its tokens are
what a server reads that reads no prefix twice.

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
from itertools import pairwise
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


def prefix_tree(model: esp.LlamaCpp, requests: list[dict[str, Any]]) -> int:
    """The tokens of the prefix tree of the requests' prompts."""
    address = model.engine.url.removesuffix("/v1")
    prompts = []
    for messages in {json.dumps(request["messages"]) for request in requests}:
        text = json.loads(post(f"{address}/apply-template", {"messages": json.loads(messages)}))["prompt"]
        asked = {"content": text, "add_special": True, "parse_special": True}
        prompts.append(json.loads(post(f"{address}/tokenize", asked))["tokens"])
    prompts.sort()
    shared = [common(a, b) for a, b in pairwise(prompts)]
    return sum(map(len, prompts)) - sum(shared)


def one_by_one(model: esp.LlamaCpp, requests: list[dict[str, Any]]) -> None:
    """Sends each sample alone. Two for each slot are under way."""
    with ThreadPoolExecutor(2 * model.engine.slots) as threads:
        list(threads.map(lambda body: post(f"{model.engine.url}/chat/completions", body), requests))


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
        files: dict[str, Any] = {"questions": world / "questions.jsonl", "corpus": world / "corpus.jsonl"}
        if options.prompts:
            files["prompts"] = options.prompts
        with esp.LlamaCpp(options.model, slots=options.slots, context=1024) as model:
            start = time.perf_counter()
            run = esp.expand(
                method="decex", **files, model=model, out=Path(folder) / "run", constrain="off", set=SETTINGS
            )
            seconds = time.perf_counter() - start
            together = read_so_far(model)
            requests = requests_of(run.out / "journal.sqlite")
            tree = prefix_tree(model, requests)
        with esp.LlamaCpp(options.model, slots=options.slots, context=1024) as model:
            start = time.perf_counter()
            one_by_one(model, requests)
            apart, apart_seconds = read_so_far(model), time.perf_counter() - start
    print(f"{len(requests)} samples, {options.slots} slots")
    print(f"prefix tree of the prompts  {tree:8,} tokens")
    print(f"our client                  {together:8,} tokens read, {together / tree:5.2f} of the tree, {seconds:.1f} s")
    print(f"one by one                  {apart:8,} tokens read, {apart / tree:5.2f} of the tree, {apart_seconds:.1f} s")


if __name__ == "__main__":
    main()
