"""BM25 of Espalier, bm25s (numba backend) and SQLite's FTS5 over one corpus in one run.

    lexical.py [PASSAGES [PATH_OF_BENCH_RETRIEVAL]]

The program bench_retrieval makes the corpus (100 words per passage, 50,000 words by Zipf's law), builds our index and
asks it; the others get the same texts and the same queries of 6 words, the best 10, one thread. Queries per second are
of CPU time, because machines are shared; builds: ours with two threads, bm25s as it comes (tokenises, then indexes),
FTS5 in one transaction, up to 200,000 passages. bm25s must find the same scores as we do, to 1e-4.
"""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """What run() returns, seconds, CPU seconds."""
    start, cpu = time.perf_counter(), time.process_time()
    result = run()
    return result, time.perf_counter() - start, time.process_time() - cpu


def asked(folder: Path, name: str) -> tuple[list[list[str]], list[list[float]]]:
    """The words of each query and the scores that we found."""
    words, scores = [], []
    for line in (folder / f"{name}.txt").read_text().splitlines():
        query, found = line.split("\t")
        words.append(query.split())
        scores.append([float(score) for score in found.split()[1::2]])
    return words, scores


def bm25s_figures(texts: list[str], folder: Path) -> dict[str, float]:
    import bm25s

    def build():
        tokens = bm25s.tokenize(texts, stopwords=None, token_pattern=r"[^\W_]+", show_progress=False)
        index = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
        index.index(tokens, show_progress=False)
        return index

    index, seconds, cpu = timed(build)
    figures = {"build": seconds, "build_cpu": cpu}
    for name in ("content", "common"):
        words, expected = asked(folder, name)

        def ask(words=words):
            return index.retrieve(words, k=10, n_threads=1, show_progress=False)

        ask()  # compiles
        answers, _, cpu = timed(ask)
        figures[name] = len(words) / cpu
        differ = 0
        for row, ours in zip(answers.scores, expected, strict=True):
            differ += sum(abs(a - b) > 1e-4 for a, b in zip(row, ours, strict=False))
        figures[f"{name}_scores_that_differ"] = differ
    return figures


def fts5_figures(texts: list[str], folder: Path) -> dict[str, float]:
    def build():
        base = sqlite3.connect(folder / "fts5.db")
        base.execute("CREATE VIRTUAL TABLE passages USING fts5(text, tokenize = 'ascii')")
        with base:
            base.executemany("INSERT INTO passages(rowid, text) VALUES (?, ?)", enumerate(texts))
            base.execute("INSERT INTO passages(passages) VALUES ('optimize')")  # one b-tree: the fastest queries
        return base

    base, seconds, cpu = timed(build)
    figures = {"build": seconds, "build_cpu": cpu}
    for name in ("content", "common"):
        words = asked(folder, name)[0][:100]

        def ask(words=words):
            for query in words:
                base.execute(
                    "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT 10", (" OR ".join(query),)
                ).fetchall()

        figures[name] = len(words) / timed(ask)[2]
    base.close()
    return figures


def compare(passages: int, bench: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(subprocess.run([bench, str(passages), name], check=True, capture_output=True, text=True).stdout)
        rows = {"Espalier": json.loads((folder / "figures.json").read_text())}
        texts = (folder / "corpus.txt").read_text().splitlines()
        if importlib.util.find_spec("bm25s"):
            rows["bm25s"] = bm25s_figures(texts, folder)
        if passages <= 200_000:
            rows["FTS5"] = fts5_figures(texts, folder)
    print(f"{'':10} {'content q/s':>12} {'4 + 2 common':>13} {'build s':>9} {'build CPU s':>12}")
    ours = rows["Espalier"]
    for library, row in rows.items():
        print(f"{library:10} {row['content']:12.0f} {row['common']:13.0f} {row['build']:9.1f} {row['build_cpu']:12.1f}")
        if library != "Espalier":
            content, common, build, cpu = (
                ours["content"] / row["content"],
                ours["common"] / row["common"],
                row["build"] / ours["build"],
                row["build_cpu"] / ours["build_cpu"],
            )
            print(f"  we are {content:.1f} and {common:.1f} times as fast, in building {build:.1f} ({cpu:.1f} in CPU)")
        if differ := sum(value for key, value in row.items() if key.endswith("differ")):
            print(f"  {differ:.0f} SCORES DIFFER")


def main() -> None:
    passages = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    bench = sys.argv[2] if len(sys.argv) > 2 else "build/bench/benchmarks/bench_retrieval"
    compare(passages, Path(bench))


if __name__ == "__main__":
    main()
