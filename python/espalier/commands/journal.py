"""`espalier journal`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ..io.journal import connect, journal_of
from ..io.terminal import say, say_json
from ..runs.summary import table

SUMMARY = "Say what a journal holds: records, tokens, sizes and latencies by kind and model."
EXAMPLES = ("espalier journal out/demo", "espalier journal shared.sqlite --json")
KINDS = {1: "generation", 2: "retrieval", 3: "embedding", 4: "score"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="file of a journal, or folder of a run")


def run(arguments: argparse.Namespace) -> int:
    found = stats(journal_of(arguments.journal))
    say_json(found) if arguments.json else say(*readable(found))
    return 0


def quantiles(sorted_values: Sequence[int]) -> dict[str, float]:
    """Quantiles in milliseconds from microseconds, by nearest rank."""
    last = len(sorted_values) - 1
    return {f"p{q}": sorted_values[round(last * q / 100)] / 1000 for q in (50, 90, 99)}


def stats(file: Path) -> dict[str, Any]:
    """The contents of a journal, as `espalier journal --json` prints them."""
    groups = []
    with closing(connect(file)) as db:
        db.execute("BEGIN")  # one moment for all figures
        for kind, source, records, requests, prompt, output, attempts, size in db.execute(
            "SELECT kind, source, count(*), count(DISTINCT request), sum(prompt_tokens), sum(completion_tokens), "
            "sum(attempts), sum(length(value)) FROM record GROUP BY kind, source ORDER BY kind, source"
        ).fetchall():
            group = (kind, source)
            times = db.execute(
                "SELECT microseconds FROM record WHERE kind = ? AND source = ? ORDER BY microseconds", group
            ).fetchall()
            groups.append(
                {
                    "kind": KINDS.get(kind, str(kind)),
                    "source": source,
                    "records": records,
                    "requests": requests,
                    "prompt_tokens": prompt,
                    "completion_tokens": output,
                    "attempts": attempts,
                    "bytes": size,
                    "milliseconds": quantiles([microseconds for (microseconds,) in times]),
                }
            )
        request_bytes = db.execute("SELECT total(length(json)) FROM request").fetchone()[0]
        runs = db.execute(
            "SELECT name, (SELECT count(*) FROM record WHERE paid_by = run.id) FROM run ORDER BY run.id"
        ).fetchall()
    return {
        "file": str(file),
        "bytes": sum(part.stat().st_size for part in (file, Path(f"{file}-wal")) if part.exists()),
        "request_bytes": int(request_bytes),
        "groups": groups,
        "runs": [{"identity": name, "records": records} for name, records in runs],
    }


def readable(found: dict[str, Any]) -> list[str]:
    header = ["kind", "model or index", "records", "requests", "prompt tokens", "tokens", "MB", "ms p50", "p90", "p99"]
    rows = [
        (
            group["kind"],
            group["source"],
            *(f"{group[name]:,}" for name in ("records", "requests", "prompt_tokens", "completion_tokens")),
            f"{group['bytes'] / 1e6:.1f}",
            *(f"{milliseconds:.1f}" for milliseconds in group["milliseconds"].values()),
        )
        for group in found["groups"]
    ]
    size = f"{found['bytes'] / 1e6:.1f} MB, {found['request_bytes'] / 1e6:.1f} MB of it requests"
    lines = [f"{found['file']}: {size}", *(table(header, rows, left=2) if rows else ["no records"])]
    lines += [f"run {run['identity']}: paid for {run['records']:,} records" for run in found["runs"]]
    return lines
