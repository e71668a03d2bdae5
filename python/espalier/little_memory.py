"""A process with little memory: the command says so in one line, and does not hang."""

from __future__ import annotations

import errno
import os
import resource
import sys
from pathlib import Path
from types import TracebackType

WORDS = ("failed to map segment", "cannot allocate memory", "can't start new thread")
LITTLE = (1 << 30) + ((os.cpu_count() or 1) << 26)
"""Bytes of address space in which the threads of a library for matrices may not find room and wait for ever."""


def is_lack(error: BaseException) -> bool:
    """Whether an import failed for want of memory."""
    lacks = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    return lacks or any(word in str(error).lower() for word in WORDS)


def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if is_lack(error) and os.environ.get("ESPALIER_DEBUG") != "1":
        sys.stderr.write("espalier: too little memory to begin\n")
    else:
        sys.__excepthook__(kind, error, trace)


if 0 <= resource.getrlimit(resource.RLIMIT_AS)[0] < LITTLE:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if Path(sys.argv[0]).name in ("espalier", "-m"):  # the command, whose modules are not imported yet
    sys.excepthook = tell
