"""A model and retrieval server behind hypercorn, a server of somebody else's that speaks HTTP/2."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trustme
from fault_server import FaultServer
from hypercorn.asyncio import serve
from hypercorn.config import Config
from streams import encode


class H2Server:
    """Replies as `content` does without faults, over TLS. `breaks` says which streams, by number, end before their
    reply is whole; after `most_requests` a connection is told to go away, whatever is under way on it."""

    def __init__(
        self,
        content: FaultServer,
        authority: trustme.CA,
        folder: Path,
        *,
        alpn: tuple[str, ...] = ("h2", "http/1.1"),
        most_requests: int = 100_000,
        breaks: Callable[[int], bool] = lambda number: False,
    ) -> None:
        self.met: Counter[tuple[str, int]] = Counter()  # requests by HTTP version and the client's port
        self.broken = 0
        self._content, self._breaks = content, breaks
        self._config = Config()
        self._config.alpn_protocols = list(alpn)
        self._config.keep_alive_max_requests = most_requests
        self._config.certfile = self._config.keyfile = str(folder / "server.pem")
        self._config.errorlog = self._config.accesslog = None
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")

    def __enter__(self) -> H2Server:
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._port = listener.getsockname()[1]
        self._config.bind = [f"fd://{listener.detach()}"]
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def _run(self) -> None:
        self._config.graceful_timeout = 1
        self._loop.run_until_complete(serve(self._app, self._config, shutdown_trigger=self._stopped.wait))
        self._loop.close()

    async def _app(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (event := (await receive())["type"]) != "lifespan.shutdown":
                await send({"type": f"{event}.complete"})
            return await send({"type": f"{event}.complete"})
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        number = self.met.total()
        self.met[scope["http_version"], scope["client"][1]] += 1
        reply = encode(self._content.reply_to(scope["path"], json.loads(body or b"null")))
        await asyncio.sleep(0.005)  # so that requests are under way beside one another
        headers = [(b"content-length", b"%d" % len(reply))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        broken = self._breaks(number)
        self.broken += broken
        await send({"type": "http.response.body", "body": reply[: len(reply) // 2] if broken else reply})
