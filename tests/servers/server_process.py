"""A server of somebody else's as a process of the tests, and plain requests to it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LISTENING = re.compile(r"http://127\.0\.0\.1:\d+(?=\s)")


def ask(url: str, request: dict[str, Any] | bytes | None = None) -> tuple[int, Any]:
    """POSTs JSON, or GETs without a request; (status, the reply as JSON where it is any)."""
    body = json.dumps(request).encode() if isinstance(request, dict) else request
    sent = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(sent, timeout=60) as reply:
            status, text = reply.status, reply.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


class ServerProcess:
    """Runs `command` on a free port, which its log says, until the end of the block, or of the tests, however they end;
    ready once `probe` is answered by 200."""

    address: str

    def __init__(
        self, command: Sequence[object], probe: str, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._command = [*map(str, command), "--host", "127.0.0.1", "--port", "0"]
        self._probe, self._log = probe, log
        self._environment = {**os.environ, **(environment or {})}

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def __enter__(self) -> ServerProcess:
        mortal = ["setpriv", "--pdeathsig", "KILL", *self._command]  # pytest's limit of a test ends it on the spot
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(mortal, stdout=log, stderr=subprocess.STDOUT, env=self._environment)
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end and self._process.poll() is None:
            if said := LISTENING.search(self._log.read_text(errors="replace")):
                self.address = said[0]
                if ask(self.address + self._probe)[0] == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"{self._command[0]} did not start:\n{self._log.read_text(errors='replace')[-2000:]}")

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
