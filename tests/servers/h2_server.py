"""A model and retrieval server behind hypercorn, a server of somebody else's that speaks HTTP/2."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import trustme
from dialects import encode
from fault_server import FaultServer
from hypercorn.asyncio import serve
from hypercorn.config import Config


class H2Server:
    """Replies as a fault server of this knowledge does without faults, over TLS. One stream in `breaks_every` ends
    before its reply is whole; after `most_requests` a connection is told to go away, whatever is under way on it.
    A process of its own: hypercorn can wait for good on a connection that it told to go away, and is ended here."""

    def __init__(
        self,
        knowledge: dict[str, Any],
        authority: trustme.CA,
        folder: Path,
        *,
        alpn: tuple[str, ...] = ("h2", "http/1.1"),
        most_requests: int = 100_000,
        breaks_every: int = 0,
    ) -> None:
        self.met: Counter[tuple[str, int]] = Counter()  # by HTTP version and client port; after the block
        self.broken = 0
        certificate = folder / "server.pem"
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._port = self._listener.getsockname()[1]
        processes = multiprocessing.get_context("spawn")
        self._stop, told = processes.Pipe()
        self._process = processes.Process(
            target=_run,
            args=(told, self._listener, knowledge, str(certificate), list(alpn), most_requests, breaks_every),
            daemon=True,
        )

    def __enter__(self) -> H2Server:
        self._process.start()
        self._listener.close()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._stop.send(None)
            assert self._stop.poll(60), "the server does not say what it met"
            self.met, self.broken = self._stop.recv()
        finally:
            self._stop.close()
            self._process.kill()
            self._process.join()
            self._process.close()

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"{self.address}/v1"


def _run(
    told: Any,
    listener: socket.socket,
    knowledge: dict[str, Any],
    certificate: str,
    alpn: list[str],
    most_requests: int,
    breaks_every: int,
) -> None:
    content = FaultServer(**knowledge)
    met: Counter[tuple[str, int]] = Counter()
    broken = 0

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        nonlocal broken
        if scope["type"] == "lifespan":
            while (event := (await receive())["type"]) != "lifespan.shutdown":
                await send({"type": f"{event}.complete"})
            return await send({"type": f"{event}.complete"})
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        met[scope["http_version"], scope["client"][1]] += 1
        breaks = breaks_every > 0 and met.total() % breaks_every == 0
        broken += breaks
        reply = encode(content.reply_to(scope["path"], json.loads(body or b"null")))
        await asyncio.sleep(0.005)  # so that requests are under way beside one another
        headers = [(b"content-length", b"%d" % len(reply))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": reply[: len(reply) // 2] if breaks else reply})

    def end() -> None:
        try:
            told.recv()
            told.send((met, broken))
        finally:  # also if the tests are gone
            os._exit(0)

    config = Config()
    config.alpn_protocols = alpn
    config.keep_alive_max_requests = most_requests
    config.certfile = config.keyfile = certificate
    config.errorlog = config.accesslog = None
    config.bind = [f"fd://{listener.detach()}"]
    loop = asyncio.new_event_loop()
    loop.add_reader(told.fileno(), end)
    loop.run_until_complete(serve(app, config, shutdown_trigger=asyncio.Event().wait))
