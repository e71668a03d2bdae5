"""Opens journals, to look into them."""

import os
import sqlite3
from pathlib import Path

from .. import _core
from ..errors import InputError
from .files import record_of


def journal_of(path: str) -> Path:
    """The file of a journal, from its own path or a run's folder. Raises InputError or StoreError if it is none."""
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
