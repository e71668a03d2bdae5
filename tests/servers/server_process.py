"""A server of somebody else's as a process of the tests, and plain requests to it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy is not for the loopback


def ask(url: str, request: dict[str, Any] | bytes | None = None) -> tuple[int, Any]:
    """POSTs JSON, or GETs without a request; (status, the reply as JSON where it is any)."""
    body = json.dumps(request).encode() if isinstance(request, dict) else request
    sent = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    try:
        with _opener.open(sent, timeout=60) as reply:
            status, text = reply.status, reply.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


class ServerProcess:
    """Runs `command` with a free port behind it, until the end of the block; ready once `probe` is answered by 200."""

    def __init__(
        self, command: Sequence[object], probe: str, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.url = f"{self.address}/v1"
        self._command = [*map(str, command), "--host", "127.0.0.1", "--port", str(port)]
        self._probe, self._log = probe, log
        self._environment = {**os.environ, **(environment or {})}

    def __enter__(self) -> ServerProcess:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT, env=self._environment)
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end and self._process.poll() is None:
            try:
                if ask(self.address + self._probe)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"{self._command[0]} did not start:\n{self._log.read_text(errors='replace')[-2000:]}")

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
