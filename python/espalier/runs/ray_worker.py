"""A worker of a run that is spread by Ray: one process, which does one shard after the other."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from .. import _core
from .given import given
from .job import run_job
from .leases import HeldLease, wait_for
from .scratch import run_at_scratch
from .storage import Storage

CARRIED = (
    "OPENAI_API_KEY",
    "SSL_CERT_FILE",
    *(name for proxy in ("http_proxy", "https_proxy", "all_proxy", "no_proxy") for name in (proxy, proxy.upper())),
)
"""Variables of the driver's environment that a worker needs: its own is that of its node."""
STORAGES = "FSSPEC_"
"""How the variables begin that configure storages for fsspec. A worker needs them too."""


class Place(NamedTuple):
    """Where a worker is."""

    node: str
    host: str
    version: str
    """Of Espalier."""


class Outcome(NamedTuple):
    """How the work on a shard ended."""

    open: int = 0
    why_open: str = ""
    error: str = ""
    """'' = there is a run, with so many open questions."""


class Worker:
    """Becomes an actor of Ray, which ends with its process."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._storage: Storage | None = None

    def begin(
        self, folder: str, environment: Mapping[str, str], settings: Mapping[str, Any], storage: tuple[str, str] | None
    ) -> Place:
        """Works in the driver's folder from now on, so that paths mean the same. Models that run in this process stay
        loaded between two shards. `storage`: address and folder of the Storage for shards, None = their own folders."""
        import ray

        os.chdir(folder)
        os.environ.update(environment)
        self._storage = Storage(*storage) if storage else None
        self._held.enter_context(given(settings))
        return Place(ray.get_runtime_context().get_node_id(), socket.gethostname(), _core.build_info()["version"])

    def work(self, task: str, settings: Mapping[str, Any], lease: str, attempt: int) -> Outcome:
        """Does a shard under a lease. It goes on where an earlier attempt was stopped."""
        try:
            with HeldLease(Path(lease), attempt) as held:
                if self._storage is not None:
                    result = run_at_scratch(self._storage, task, settings, held, attempt)
                else:
                    wait_for(Path(settings["out"]))
                    result = run_job(task, settings, held)
        except Exception as error:
            return Outcome(error=f"{error}" or type(error).__name__)
        return Outcome(result.open, result.why_open)
