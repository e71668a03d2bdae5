"""Attacks the installed package as careless users and hostile servers do; one line each says whether it held.

    python benchmarks/attack.py [--list] [--only NAME ...]

Everything happens on the loopback and in temporary folders. Exits 1 if anything broke.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from attacks import documents, doors, faults, folders, replies, silences  # noqa: F401
from attacks.verdict import ATTACKS, Broke

LIMIT = 120  # seconds per attack


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="names and meanings, nothing else")
    parser.add_argument("--only", action="append", metavar="NAME", choices=list(ATTACKS), help="may be repeated")
    options = parser.parse_args()
    chosen = options.only or list(ATTACKS)
    width = max(map(len, chosen))
    if options.list:
        for name in chosen:
            print(f"{name:{width}}  {ATTACKS[name].__doc__}")
        return 0
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell starts deaf to it
    begin, broke = time.monotonic(), 0
    for name in chosen:
        since = time.monotonic()
        reason = why_broken(name)
        broke += reason is not None
        verdict = "held " if reason is None else "broke"
        print(f"{verdict}  {name:{width}}  {time.monotonic() - since:5.1f} s  {reason or ''}".rstrip(), flush=True)
    print(f"{len(chosen) - broke} held, {broke} broke, {time.monotonic() - begin:.0f} s")
    return 1 if broke else 0


def why_broken(name: str) -> str | None:
    """Makes one attack; None if the package held."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        try:
            with time_limit(LIMIT):
                ATTACKS[name](Path(folder))
        except Broke as reason:
            return str(reason)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in the block that takes longer."""

    def over(*_: object) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    sys.exit(main())
