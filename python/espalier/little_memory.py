"""A process with little memory: the command says so in one line, and does not hang."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

WORDS = ("failed to map segment", "cannot allocate memory", "can't start new thread")
LITTLE = (1 << 30) + ((os.cpu_count() or 1) << 26)
"""Bytes of memory in which the threads of a library for matrices may not find room and wait for ever."""
NEEDED = 300 << 20
"""Bytes of memory for the libraries. OpenBLAS, while it is loaded, asks for its share for ever."""


def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    lacks = isinstance(error, MemoryError) or any(word in str(error).lower() for word in WORDS)
    if lacks and os.environ.get("ESPALIER_DEBUG") != "1":
        with suppress(OSError):  # as on a full disk. A stream would fail again as the process ends
            os.write(2, b"espalier: too little memory to begin\n")
    else:
        sys.__excepthook__(kind, error, trace)


if Path(sys.argv[0]).name in ("espalier", "-m"):  # the command, whose modules are not imported yet
    sys.excepthook = tell
if any(0 <= resource.getrlimit(kind)[0] < LITTLE for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)):
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # also where more are asked for
    bytes(NEEDED)  # MemoryError where there is no room. No page of them is touched
