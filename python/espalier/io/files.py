"""Files that are read, and written whole."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from .. import _core
from .._core import Tree
from ..errors import InputError
from .text import json_escape

FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
"""Errors of a write, which name no file by themselves."""
PIPE = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/(\d+)")
LINE_ENDS = re.compile("[\x85\u2028\u2029]")


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """A file to read, or a pipe. Raises OSError where there is none, InputError for what may have no end."""
    Path(path).stat()
    return os.fdopen(_core.open_input(os.fspath(path)), "rb")


def keep_piped(path: object) -> None:
    """Puts a file of its text in the place of a pipe such as `<(command)` and /dev/stdin, to be read more than once.
    Raises InputError for a named pipe and for one that may have no end."""
    if not isinstance(path, (str, os.PathLike)) or not Path(path).is_fifo():
        return
    if not (place := PIPE.fullmatch(os.fspath(path))):
        raise InputError(f"{path}: is read more than once, and a named pipe gives its text once: name a file")
    blank = 0
    with opened(path) as pipe, TemporaryFile() as kept:
        while block := pipe.read(1 << 16):
            kept.write(block)
            blank = 0 if block.strip() else blank + len(block)
            if blank > 1 << 20 or kept.tell() > 1 << 30:
                raise InputError(f"{path}: holds {'a mebibyte of blanks' if blank else 'more than a gibibyte'}")
        os.dup2(kept.fileno(), int(place[1] or 0))


def read_text(path: str | os.PathLike[str], most: int = 1 << 30) -> str:
    """The text of a file of at most `most` bytes. Raises OSError and InputError."""
    with opened(path) as file:
        text, more = file.read(most), file.read(1)
    if more:
        raise InputError(f"{path}: has more than the {most >> 10} KiB that are read here")
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start + 1} is not UTF-8") from None


def unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Raises ValueError for one with a name twice."""
    if len(found := dict(members)) < len(members):
        names = [name for name, _ in members]
        raise ValueError(f"key '{next(name for name in names if names.count(name) > 1)}' is there twice")
    return found


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The object in a JSON file. Raises InputError."""
    try:
        read = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error})") from None
    if not isinstance(read, dict):
        raise InputError(f"{path}: is not an object")
    return read


def file_of(run: Path, name: str) -> Path:
    """A file of a finished run, with all of one moment. Raises InputError that says what is there, and what to do."""
    _core.settle(run)
    if (run / name).exists():
        return run / name
    if (run / "run.json").exists():
        found = "holds a run that is not finished; run its command again, which goes on with it"
    elif (run / "eval.json").exists():
        runs = ", ".join(sorted(f"runs/{folder.name}" for folder in (run / "runs").glob("*")))
        found = f"holds an evaluation; name one of its runs: {runs}"
    else:
        found = f"holds no finished run (no {name})" if run.is_dir() else "is no folder"
        found = f"{found if run.exists() else 'is not there'}; name the --out of `espalier expand` or `answer`"
    raise InputError(f"{run}: {found}")


def record_of(run: Path) -> dict[str, Any]:
    """The content of a run's run.json. Raises InputError as `file_of`."""
    record = read_object(file := file_of(run, "run.json"))
    for name in ("identity", "method"):
        if not isinstance(record.get(name), str):
            raise InputError(f"{file}: is no record of a run (field '{name}': is missing)")
    return record


@contextmanager
def working(folder: str | os.PathLike[str], work: str, *, shared: bool = False) -> Iterator[Path]:
    """Keeps others out of a folder, and gives another within for new files: they take their places in `folder` at the
    end, all of them or, after an error, none. `work` is what others are told. Files that hold no prompts are `shared`
    with other users of the machine, as the umask says. Raises InputError that says who works there.
    """
    held = _core.WorkFolder(folder, work)
    try:
        yield held.next
        held.commit(shared)
    finally:
        held.release()


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """An error of the system names the file: not its unfinished part, and on a full disk it names none."""
    try:
        yield
    except OSError as error:
        if error.filename == f"{path}.part" or (error.filename is None and error.errno in FULL):
            error.filename = os.fspath(path)
        raise


@contextmanager
def replacing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[BinaryIO]:
    """A file that replaces `path` once it is whole. After an error nothing remains. `private`: mode 0600. Raises
    InputError for a device, a pipe or a folder."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InputError(f"{path}: cannot be written: it is no file")
    part = target.with_name(target.name + ".part")
    mode = 0o600 if private else 0o666
    try:
        with naming(target), open(part, "wb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        if os.path.lexists(part):  # not a name too long
            part.unlink()


def as_json(value: object, indent: int | None = None) -> str:
    """JSON, on one line without `indent`: U+0085, U+2028 and U+2029, which some take for a line's end, are escaped."""
    separators = None if indent else (",", ":")
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return LINE_ENDS.sub(json_escape, text)


def write_jsonl(
    path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any] | Tree], *, private: bool = False
) -> None:
    """Writes rows or trees, one per line. The file appears whole or not at all. `private`: mode 0600."""
    with replacing(path, private=private) as file:
        for row in rows:
            text = row.to_json() if isinstance(row, Tree) else as_json(row)
            file.write(f"{text}\n".encode())


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The file appears whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())
