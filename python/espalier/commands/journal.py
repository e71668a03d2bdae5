"""`espalier journal`."""

import argparse
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..io.journal import connect, journal_of
from ..io.terminal import say, say_json
from ..runs.summary import table

SUMMARY = "Say what a journal holds: records, tokens, sizes and latencies by kind and model."
EXAMPLES = ("espalier journal out/demo", "espalier journal shared.sqlite --json")
KINDS = {1: "generation", 2: "retrieval", 3: "embedding", 4: "score"}
GROUPS = """SELECT kind, source, count(*) AS records, count(DISTINCT request) AS requests,
sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens, sum(attempts) AS attempts,
sum(length(value)) AS bytes FROM record GROUP BY kind, source ORDER BY kind, source"""
TIMES = "SELECT microseconds FROM record WHERE kind = ? AND source = ? ORDER BY microseconds"
RUNS = """SELECT name AS identity, (SELECT count(*) FROM record WHERE paid_by = run.id) AS records
FROM run ORDER BY run.id"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="file of a journal, or folder of a run")


def run(arguments: argparse.Namespace) -> int:
    file = journal_of(arguments.journal)
    try:
        found = stats(file)
    except (sqlite3.Error, TypeError) as error:
        raise StoreError(f"{file}: is no journal of a run: {error}") from None
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
        db.row_factory = sqlite3.Row
        db.execute("BEGIN")  # one moment for all figures
        for group in map(dict, db.execute(GROUPS).fetchall()):
            times = db.execute(TIMES, (group["kind"], group["source"])).fetchall()
            group |= {"kind": KINDS.get(group["kind"], str(group["kind"]))}
            groups.append(group | {"milliseconds": quantiles([microseconds for (microseconds,) in times])})
        request_bytes = db.execute("SELECT total(length(json)) FROM request").fetchone()[0]
        runs = [dict(row) for row in db.execute(RUNS)]
    return {
        "file": str(file),
        "bytes": sum(part.stat().st_size for part in (file, Path(f"{file}-wal")) if part.exists()),
        "request_bytes": int(request_bytes),
        "groups": groups,
        "runs": runs,
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
