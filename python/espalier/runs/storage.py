"""Where workers leave copies of the shards that they do on their nodes' own disks: a folder, or an address of fsspec.

A copy of a shard is a folder `shard-I/A-N`: copy N of attempt A. When it is whole, a file beside it gets the name
`A-N.json`, or `A-N.finished.json` for a finished shard. Copies without that file are not read, and nothing is written
over. So nobody reads half a copy, and a worker that has lost its shard does not harm the copies of a later attempt.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import Error, MissingPart

NAME = re.compile(r"(?:.*/)?shard-(\d+)/(\d+)-(\d+)(.*)")
WHOLE = {".json": False, ".finished.json": True}
"""How the name of the file beside a whole copy ends, and whether its shard is finished."""
Order = tuple[int, int]
"""Attempt and number within the attempt, both from 1. Later copies have a higher order."""


@dataclass(frozen=True)
class Copy:
    """A whole copy of a shard."""

    part: int
    """Of which shard, from 1."""
    order: Order
    finished: bool
    """No question of the shard is open."""
    files: Mapping[str, int]
    """Its files, with their sizes in bytes."""
    host: str
    folder: str
    """Where the files came from, on that host."""


class Storage:
    """The copies of the shards of a run. An error of the storage is an Error that names it and the shard."""

    def __init__(self, address: str, within: str) -> None:
        """`within`: the folder of the run at that address. Raises MissingPart if a package for such addresses is not
        installed, and ValueError if there are no such addresses."""
        try:
            from fsspec.core import url_to_fs
            from fsspec.implementations.local import LocalFileSystem

            self._files, root = url_to_fs(address)
        except ImportError as error:
            raise MissingPart(f"option 'storage' needs a package that is missing: {error}") from None
        except ValueError as error:
            raise ValueError(f"option 'storage': {error}") from None
        self._root = f"{root.rstrip('/')}/{within}"
        self._is_local = isinstance(self._files, LocalFileSystem)
        self.url = str(self._files.unstrip_protocol(self._root))

    def newest(self, part: int) -> Copy | None:
        """The newest whole copy of a shard. None = there is none."""
        with self._naming(part, "cannot be read"):
            found = [name for name in self._names(part) if name[4] in WHOLE]
            if not found:
                return None
            name = max(found, key=order_of)
            made = json.loads(self._files.cat_file(name[0]))
            return Copy(part, order_of(name), WHOLE[name[4]], **made)

    def finished(self) -> set[int]:
        """The shards whose newest copy is finished."""
        newest: dict[int, tuple[Order, bool]] = {}
        with self._naming(None, "cannot be read"):
            self._files.invalidate_cache()
            for name in filter(None, map(NAME.fullmatch, self._files.find(self._root))):
                if name[4] in WHOLE:
                    copy = order_of(name), WHOLE[name[4]]
                    newest[int(name[1])] = max(copy, newest.get(int(name[1]), copy))
        return {part for part, (_, finished) in newest.items() if finished}

    def put(self, part: int, order: Order, files: Mapping[str, Path], folder: Path, finished: bool) -> None:
        """Makes a copy of the files of a shard, whose folder is `folder`, and removes its older copies."""
        with self._naming(part, "cannot be written"):
            target = self._target(part, order)
            self._files.makedirs(target, exist_ok=True)
            for name, file in files.items():
                self._files.put_file(str(file), f"{target}/{name}")
            sizes = {name: self._files.size(f"{target}/{name}") for name in files}  # as put: a run may be under way
            made = {"files": sizes, "host": socket.gethostname(), "folder": str(folder)}
            self._files.pipe_file(f"{target}.part", json.dumps(made).encode())
            self._files.mv(f"{target}.part", target + (".finished.json" if finished else ".json"))
            older = [found for found in self._names(part) if order_of(found) < order]
            for found in sorted(older, key=lambda found: found[4] == ""):  # the files that call a copy whole go first
                with suppress(FileNotFoundError):
                    self._files.rm(found[0], recursive=True)

    def fetch(self, copy: Copy, folder: Path) -> None:
        """Writes the files of a copy into a folder of this machine."""
        with self._naming(copy.part, f"cannot be fetched into {folder}"):
            for name, size in copy.files.items():
                self._files.get_file(f"{self._target(copy.part, copy.order)}/{name}", str(folder / name))
                if (fetched := (folder / name).stat().st_size) != size:
                    raise Error(f"{name} has {fetched} bytes, not {size}")

    def bring(self, part: int, folder: Path) -> Path:
        """A folder with the newest copy of a shard: the copy's own in a storage of this machine, else `folder`, into
        which it is fetched."""
        copy = self.newest(part)
        if copy is None:
            raise Error(f"{self.url}/shard-{part}: is not there any more")
        if self._is_local:
            return Path(self._target(part, copy.order))
        folder.mkdir(exist_ok=True)
        self.fetch(copy, folder)
        return folder

    def _target(self, part: int, order: Order) -> str:
        return f"{self._root}/shard-{part}/{order[0]}-{order[1]}"

    def _names(self, part: int) -> list[re.Match[str]]:
        """What is in the folder of a shard."""
        self._files.invalidate_cache()
        try:
            paths = self._files.ls(f"{self._root}/shard-{part}", detail=False)
        except FileNotFoundError:
            return []
        return list(filter(None, map(NAME.fullmatch, paths)))

    @contextmanager
    def _naming(self, part: int | None, what: str) -> Iterator[None]:
        """Errors in the block name the storage, and what is not possible."""
        try:
            yield
        except Exception as error:  # of as many kinds as there are storages
            where = self.url if part is None else f"{self.url}/shard-{part}"
            raise Error(f"{where}: {what} (option 'storage'): {f'{error}' or type(error).__name__}") from error


def order_of(name: re.Match[str]) -> Order:
    return int(name[2]), int(name[3])
