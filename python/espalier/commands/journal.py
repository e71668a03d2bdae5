"""`espalier journal`: lists, deletes and checks the records of a journal."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .. import _core
from ..errors import InputError, StoreError
from ..io.files import record_of
from ..runs.summary import table
from .shared.parser import add_command

if TYPE_CHECKING:
    import argparse

SUMMARY = "What a journal holds: stats, export, prune, verify."
EXAMPLES = ()
KINDS = {"generation": 1, "retrieval": 2, "embedding": 3, "score": 4}


def add_options(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="journal_command", metavar="COMMAND", required=True)

    def command(name: str, help: str, *examples: str) -> argparse.ArgumentParser:
        added = add_command(commands, name, help, examples)
        added.add_argument("journal", metavar="JOURNAL", help="file of a journal, or folder of a run")
        return added

    stats = command(
        "stats", "Records, tokens, hits, sizes and latencies by kind and model.", "espalier journal stats out/demo"
    )
    export = command(
        "export",
        "Print requests with their responses, one JSON object per line.",
        "espalier journal export out/demo --kind generation --purpose rollout --out rollouts.jsonl",
    )
    export.add_argument("--out", metavar="FILE", help="write there (standard output)")
    export.add_argument("--kind", choices=list(KINDS))
    export.add_argument("--model", default="", metavar="NAME", help="of this model or index")
    export.add_argument("--purpose", default="", metavar="PURPOSE", help="of a method: rollout, judge ...")
    export.add_argument("--since", metavar="DATE", help="as 2026-11-21 or 2026-11-21T18:00, local time")
    prune = command(
        "prune",
        "Remove the records that meet all given conditions. The file must not be in use.",
        "espalier journal prune shared.sqlite --older-than 30 --keep out/demo --dry-run",
    )
    prune.add_argument("--older-than", type=float, metavar="DAYS", help="records older than DAYS")
    prune.add_argument("--model", metavar="NAME", help="of this model or index")
    prune.add_argument("--keep", action="append", default=[], metavar="RUN", help="not used by RUN. It may be repeated")
    prune.add_argument("--dry-run", action="store_true", help="say what would be thrown out")
    prune.add_argument("--force", action="store_true", help="even what the run in the journal's folder needs")
    verify = command(
        "verify",
        "Check every record and the structure of the file. Damage gives exit code 3.",
        "espalier journal verify out/demo",
    )
    for printing in (stats, prune, verify):
        printing.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    file = journal_of(arguments.journal)
    if arguments.journal_command == "stats":
        found = stats(file)
        print(json.dumps(found, ensure_ascii=False) if arguments.json else readable(found))
        return 0
    if arguments.journal_command == "export":
        return export_command(file, arguments)
    if arguments.journal_command == "prune":
        return prune_command(file, arguments)
    records, damage = _core.verify_journal(str(file))
    if arguments.json:
        print(json.dumps({"file": str(file), "records": records, "damage": damage}, ensure_ascii=False))
    else:
        print(f"{file}: {records:,} records are whole")
    return tell(damage)


def journal_of(path: str) -> Path:
    """The file of a journal, from its own path or a run's folder. Raises InputError or StoreError if it is not a
    journal."""
    file = Path(path)
    if file.is_dir():
        shared = str(record_of(file).get("noted", {}).get("journal", "")) if (file / "run.json").exists() else ""
        file = Path(shared) if shared else file / "journal.sqlite"
    if not file.exists():
        raise InputError(f"{file}: there is no journal")
    _core.check_journal(str(file))
    return file


def connect(file: Path) -> sqlite3.Connection:
    """Where nothing can be written, to read it. Without a log SQLite then need not make its own files beside it."""
    if all(os.access(path, os.W_OK, effective_ids=True) for path in (file, file.parent)):
        return sqlite3.connect(file, isolation_level=None)
    log = Path(f"{file}-wal")
    logged = log.exists() and log.stat().st_size > 0
    address = file.absolute().as_uri() + ("?mode=ro" if logged else "?mode=ro&immutable=1")
    return sqlite3.connect(address, isolation_level=None, uri=True)


def tell(damage: Sequence[str]) -> int:
    """Prints the damage and returns the exit code."""
    for line in damage:
        print(f"espalier: {line}", file=sys.stderr)
    return 3 if damage else 0


def quantiles(sorted_values: Sequence[int]) -> dict[str, float]:
    """Quantiles in milliseconds from microseconds, by nearest rank."""
    last = len(sorted_values) - 1
    return {f"p{q}": sorted_values[round(last * q / 100)] / 1000 for q in (50, 90, 99)}


def stats(file: Path) -> dict[str, Any]:
    """The contents of a journal, as `espalier journal stats --json` prints them."""
    groups = []
    with closing(connect(file)) as db:
        db.execute("BEGIN")  # one moment for all figures
        for kind, source, records, requests, prompt, output, attempts, size in db.execute(
            "SELECT kind, source, count(*), count(DISTINCT request), sum(prompt_tokens), sum(completion_tokens), "
            "sum(attempts), sum(length(value)) FROM record GROUP BY kind, source ORDER BY kind, source"
        ).fetchall():
            group = (kind, source)
            hits = db.execute(
                "SELECT total(hits) FROM record JOIN used ON record = id WHERE kind = ? AND source = ?", group
            ).fetchone()[0]
            times = db.execute(
                "SELECT microseconds FROM record WHERE kind = ? AND source = ? ORDER BY microseconds", group
            ).fetchall()
            groups.append(
                {
                    "kind": next((name for name, number in KINDS.items() if number == kind), str(kind)),
                    "source": source,
                    "records": records,
                    "requests": requests,
                    "prompt_tokens": prompt,
                    "completion_tokens": output,
                    "attempts": attempts,
                    "hits": int(hits),
                    "bytes": size,
                    "milliseconds": quantiles([microseconds for (microseconds,) in times]),
                }
            )
        request_bytes = db.execute("SELECT total(length(json)) FROM request").fetchone()[0]
        runs = db.execute(
            "SELECT name, (SELECT count(*) FROM (SELECT id FROM record WHERE paid_by = run.id "
            "UNION SELECT record FROM used WHERE used.run = run.id)), "
            "(SELECT total(hits) FROM used WHERE used.run = run.id) FROM run ORDER BY id"
        ).fetchall()
    return {
        "file": str(file),
        "bytes": sum(part.stat().st_size for part in (file, Path(f"{file}-wal")) if part.exists()),
        "request_bytes": int(request_bytes),
        "groups": groups,
        "runs": [{"identity": name, "records": records, "hits": int(hits)} for name, records, hits in runs],
    }


def readable(found: dict[str, Any]) -> str:
    header = [
        "kind",
        "model or index",
        "records",
        "requests",
        "prompt tokens",
        "tokens",
        "hits",
        "MB",
        "ms p50",
        "p90",
        "p99",
    ]
    rows = [
        (
            group["kind"],
            group["source"],
            *(f"{group[name]:,}" for name in ("records", "requests", "prompt_tokens", "completion_tokens", "hits")),
            f"{group['bytes'] / 1e6:.1f}",
            *(f"{milliseconds:.1f}" for milliseconds in group["milliseconds"].values()),
        )
        for group in found["groups"]
    ]
    size = f"{found['bytes'] / 1e6:.1f} MB, {found['request_bytes'] / 1e6:.1f} MB of it requests"
    lines = [f"{found['file']}: {size}", *(table(header, rows, left=2) if rows else ["no records"])]
    lines += [f"run {run['identity']}: uses {run['records']:,} records, {run['hits']:,} hits" for run in found["runs"]]
    return "\n".join(lines)


def export_command(file: Path, arguments: argparse.Namespace) -> int:
    if arguments.out is None:
        return export(file, sys.stdout, arguments)
    with Path(arguments.out).open("w", encoding="utf-8") as out:
        return export(file, out, arguments)


def export(file: Path, out: TextIO, arguments: argparse.Namespace) -> int:
    try:
        since = int(datetime.fromisoformat(arguments.since).timestamp()) if arguments.since else 0
    except ValueError:
        raise ValueError(f"--since takes a date as 2026-11-21 or 2026-11-21T18:00, not '{arguments.since}'") from None
    kind = KINDS.get(arguments.kind, 0)
    _, damage = _core.export_journal(
        str(file), kind, arguments.model, arguments.purpose, since, lambda line: out.write(line + "\n")
    )
    return tell(damage)


def prune_command(file: Path, arguments: argparse.Namespace) -> int:
    found = prune(
        file,
        older_than=arguments.older_than,
        model=arguments.model,
        keep=arguments.keep,
        dry_run=arguments.dry_run,
        force=arguments.force,
    )
    if arguments.json:
        print(json.dumps({"file": str(file), "dry_run": arguments.dry_run, **found}, ensure_ascii=False))
        return 0
    said = "would be thrown out" if arguments.dry_run else "were thrown out"
    print(f"{file}: {found['records']:,} of {found['all']:,} records ({found['bytes'] / 1e6:.1f} MB) {said}")
    return 0


def prune(
    file: Path,
    *,
    older_than: float | None = None,
    model: str | None = None,
    keep: Sequence[str | Path] = (),
    dry_run: bool = False,
    force: bool = False,
) -> dict[str, int]:
    """Deletes the records that meet all conditions: older than a number of days, of a given model or index, and not
    used by the runs in the folders `keep`.

    Raises ValueError without a condition, and if the run in the journal's own folder needs such records, unless
    `force`. Raises StoreError while another process has the journal open.
    """
    if older_than is None and model is None and not keep:
        raise ValueError("prune needs a condition: --older-than, --model or --keep")
    with closing(connect(file)) as db:
        if not dry_run:
            take_alone(db, file)
        kept = ", ".join(str(run_id(db, Path(run))) for run in keep)
        before = None
        if older_than is not None:
            before = int((datetime.now(timezone.utc) - timedelta(days=older_than)).timestamp())
        db.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")
        db.execute("BEGIN")
        db.execute(
            "INSERT INTO chosen SELECT id FROM record "
            "WHERE (?1 IS NULL OR created < ?1) AND (?2 IS NULL OR source = ?2) "
            f"AND paid_by NOT IN ({kept}) AND id NOT IN (SELECT record FROM used WHERE run IN ({kept}))",
            (before, model),
        )
        totals = "SELECT count(*), total(length(value)) FROM record"
        records, size = db.execute(f"{totals} WHERE id IN chosen").fetchone()
        found = {"records": records, "bytes": int(size), "all": db.execute(totals).fetchone()[0]}
        if not force:
            spare_own_run(db, file)
        if not dry_run:
            db.execute("DELETE FROM used WHERE record IN chosen")
            db.execute("DELETE FROM record WHERE id IN chosen")
            db.execute("DELETE FROM request WHERE request_id NOT IN (SELECT request FROM record)")
        db.execute("COMMIT")
        if not dry_run:
            db.execute("VACUUM")
    return found


def take_alone(db: sqlite3.Connection, file: Path) -> None:
    """Leaves the write-ahead mode, which SQLite allows only to the sole user of a file, and keeps the lock."""
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    try:
        if db.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",):
            db.execute("BEGIN EXCLUSIVE")
            db.execute("COMMIT")
            return
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise StoreError(f"{file}: {error}") from None
    raise StoreError(f"{file}: another process has the journal open. Nothing was pruned")


def run_id(db: sqlite3.Connection, run: Path) -> int:
    """The journal's id of a run. Raises InputError if there is none, because then all records would be deleted."""
    found = db.execute("SELECT id FROM run WHERE name = ?", (record_of(run)["identity"],)).fetchone()
    if found is None:
        raise InputError(f"{run}: this run used nothing of the journal")
    return int(found[0])


def spare_own_run(db: sqlite3.Connection, file: Path) -> None:
    if not (file.parent / "run.json").exists():
        return
    needed = db.execute(
        "SELECT count(*) FROM record, run WHERE record.id IN chosen AND name = ? "
        "AND (paid_by = run.id OR record.id IN (SELECT record FROM used WHERE used.run = run.id))",
        (record_of(file.parent)["identity"],),
    ).fetchone()[0]
    if needed:
        raise ValueError(f"the run in {file.parent} needs {needed:,} of the records. --force throws them out too")
