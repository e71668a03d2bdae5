"""Exact dense search beside the faiss-cpu wheel's Flat index, in one run and on one thread.

    pip install faiss-cpu==1.15.1
    python benchmarks/dense_peers.py [--rows 20000] [--dimension 384]

Both get the same vectors and queries, as a Python user gives them, and must find the same rows. Medians of interleaved
rounds, in queries a CPU second.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import espalier as esp
import faiss
import numpy as np

K, ROUNDS = 10, 7


def per_cpu_second(search: Callable[[int, int], object], queries: int, batch: int) -> float:
    begin = time.process_time()
    for first in range(0, queries, batch):
        search(first, first + batch)
    return queries / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=512)
    arguments = parser.parse_args()

    random = np.random.default_rng(1)
    rows = random.standard_normal((arguments.rows, arguments.dimension), dtype="float32")
    asked = random.standard_normal((arguments.queries, arguments.dimension), dtype="float32")
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatIP(arguments.dimension)
    flat.add(rows)
    ours = esp.Dense(
        [esp.Passage(str(i), "", "") for i in range(arguments.rows)],
        lambda requests: asked[[int(request.text) for request in requests]],
        vectors=rows,
    )
    queries = [esp.Query(str(i), K) for i in range(arguments.queries)]
    _, expected = flat.search(asked, K)
    same = sum({int(p.id) for p in found} == set(row) for found, row in zip(ours(queries), expected, strict=True))
    print(f"{arguments.rows} x {arguments.dimension}; the same rows for {same} of {len(queries)} queries")
    sides: dict[str, Callable[[int, int], object]] = {
        "espalier.Dense": lambda first, end: ours(queries[first:end]),
        f"faiss-cpu {faiss.__version__} Flat": lambda first, end: flat.search(asked[first:end], K),
    }
    for batch in (1, 64):
        rates: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name, search in sides.items():
                rates[name].append(per_cpu_second(search, arguments.queries, batch))
        figures = [f"{name} {statistics.median(found):,.0f}" for name, found in rates.items()]
        print(f"{batch} at once:", ", ".join(figures))


if __name__ == "__main__":
    main()
