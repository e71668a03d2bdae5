"""The package, and files and folders of a run: what it reads, and where it writes."""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from .. import _core
from ..datasets import conversion, said_twice
from ..errors import Error, InputError
from ..io.files import read_text, record_of
from ..io.journal import connect
from ..io.read import count_passages
from .finding import Finding, ok, problem, warning

NAME = "espalier-rag"


def distribution() -> str:
    """The installed package that it comes from, with version and folder. PyPI's `espalier` is another project."""
    folder = Path(__file__).resolve().parent.parent
    for found in distributions(name=NAME):
        if folder.parent == Path(str(found.locate_file(""))).resolve():
            return f"{NAME} {found.version} in {folder}"
    return f"the sources of {NAME} in {folder}"


def others() -> list[str]:
    """Distributions of other projects that install a package of our name too. They may have replaced our files."""
    return [f"{found.metadata['Name']} {found.version}" for found in distributions(name="espalier")]


LITTLE, VERY_LITTLE = 2_000_000_000, 100_000_000
"""Bytes of free disk space that are worth a warning, and a problem."""


def check_package(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if strangers := others():
        advice = f"uninstall both, then install {NAME} alone, by `pip install .` in a clone"
        yield problem("package", f"{', '.join(strangers)} installs a package of the same name", advice)
    else:
        yield ok("package", distribution())
    for name, left_out in _core.build_info()["parts"].items():
        if left_out is not None:
            yield warning("package", f"built without {name}: {left_out}", "mend that and build again, if you need it")


def check_questions(settings: Mapping[str, Any]) -> Iterator[Finding]:
    file = settings.get("questions")
    if not file:
        return
    try:
        questions = _core.read_questions(file, settings.get("limit") or 0, False)
    except (Error, OSError) as error:
        yield problem("questions", error, conversion(file) or "mend the file")
        return
    if twice := said_twice((question.id, question.text) for question in questions):
        yield warning("questions", twice, "keep one of the two")
    without = sum(not question.gold for question in questions)
    if without:
        found = f"{len(questions)} questions, {without} of them without golden answers"
        yield warning("questions", found, conversion(file) or "`answer` takes them, `expand` and `eval` do not")
    else:
        yield ok("questions", f"{len(questions)} questions")


def check_passages(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if not settings.get("corpus") and not settings.get("index"):
        if "://" not in (settings.get("retriever") or ""):
            advice = "give --corpus, --index or the URL of a --retriever, unless the method retrieves nothing"
            yield warning("passages", "there is neither a corpus nor an index nor a retrieval server", advice)
        return
    try:
        yield ok("passages", f"{count_passages(settings):,} passages")
    except (Error, OSError, ValueError) as error:
        yield problem("passages", error, "mend the corpus, or build the index again by `espalier index build`")


def check_folder(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if not settings.get("out"):
        return
    folder = Path(settings["out"])
    there = next(part for part in (folder, *folder.absolute().parents) if part.exists())
    try:
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        yield problem("folder", f"{folder}: {error.strerror}", "give an --out that can be written")
        return
    if (folder / "run.json").exists():
        try:
            method = record_of(folder)["method"]
            state = "finished" if (folder / "summary.json").exists() else "to go on with"
            yield ok("folder", f"{folder} holds a run of {method}, {state}")
        except Error as error:
            yield problem("folder", error, "give another --out")
    else:
        yield ok("folder", f"{folder} can be written")
    free = shutil.disk_usage(there).free
    found, advice = f"{free / 1e9:,.1f} GB are free for {folder}", "free some space: trees and journals grow with a run"
    if free < LITTLE:
        yield (problem if free < VERY_LITTLE else warning)("disk", found, advice)
    else:
        yield ok("disk", found)


def check_journal(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if settings.get("journal") is False:
        yield warning("journal", "no journal is kept", "a run that is stopped starts over and pays again")
        return
    missing = _core.build_info()["parts"]["journal"]
    if missing is not None:
        yield problem("journal", f"this build has no journal: {missing}", "mend that and build again, or --no-journal")
        return
    if not settings.get("journal_file") and not settings.get("out"):
        return
    file = Path(settings.get("journal_file") or Path(settings["out"]) / "journal.sqlite")
    if not file.exists():
        yield ok("journal", f"{file} will be made")
        return
    try:
        _core.check_journal(str(file))
        with closing(connect(file)) as db:
            (records,) = db.execute("SELECT count(*) FROM record").fetchone()
        yield ok("journal", f"{file}: {records:,} responses that need not be paid for again")
    except (Error, OSError, sqlite3.Error) as error:
        yield problem("journal", error, "give another --out or --journal, or mend the file (docs/files.md)")


def check_key(settings: Mapping[str, Any]) -> Iterator[Finding]:
    file = settings.get("api_key_file")
    if file:
        try:
            empty = not read_text(file, 1 << 16).strip()
        except (OSError, ValueError, InputError) as error:
            yield problem("key", error, "mend --api-key-file")
            return
        yield problem("key", f"{file} is empty", "put the key in it") if empty else ok("key", f"there is one in {file}")
    elif os.environ.get("OPENAI_API_KEY"):
        yield ok("key", "OPENAI_API_KEY is set")
    elif "://" in (settings.get("model") or ""):
        advice = "set OPENAI_API_KEY or give --api-key-file if the server wants one"
        yield warning("key", "there is none", advice)


CHECKS = (check_package, check_questions, check_passages, check_folder, check_journal, check_key)
