"""The replies of the fault server's model behind hypercorn, a server of somebody else's that speaks HTTP/2 over TLS."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import trustme
from dialects import encode
from fault_server import FaultServer

FOLDER = "ESPALIER_H2_FOLDER"
"""The variable that names the folder of a server: its knowledge, and a line for each request that it met."""


class H2Server:
    """A process of its own: hypercorn can wait for good on a connection, and is ended here."""

    def __init__(self, knowledge: dict[str, Any], authority: trustme.CA, folder: Path) -> None:
        self._folder, self._listener = folder, socket.create_server(("127.0.0.1", 0), backlog=512)
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
        (folder / "knowledge.json").write_text(json.dumps(knowledge))
        self.address = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = f"{self.address}/v1"

    def __enter__(self) -> H2Server:
        number, pem = self._listener.fileno(), self._folder / "server.pem"
        options = ["--workers", "0", "--certfile", pem, "--keyfile", pem, "--bind", f"fd://{number}"]
        command = [sys.executable, "-m", "hypercorn", *options, "h2_server:app"]
        there = {"cwd": Path(__file__).parent, "env": os.environ | {FOLDER: str(self._folder)}}
        self._process = subprocess.Popen(command, **there, pass_fds=[number], stderr=subprocess.DEVNULL)
        self._listener.close()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def met(self) -> list[list[str]]:
        """The HTTP version and the client's port of each request."""
        return [line.split() for line in (self._folder / "met").read_text().splitlines()]


@functools.cache
def content() -> FaultServer:
    return FaultServer(**json.loads(Path(os.environ[FOLDER], "knowledge.json").read_text()))


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await receive()
        return await send({"type": "lifespan.startup.complete"})
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    with Path(os.environ[FOLDER], "met").open("a") as file:
        file.write(f"{scope['http_version']} {scope['client'][1]}\n")
    reply = encode(content().reply_to(scope["path"], json.loads(body or b"null")))
    await asyncio.sleep(0.005)  # so that requests are under way beside one another
    headers = [(b"content-length", b"%d" % len(reply))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply})
