"""A model server on the loopback that answers as an attack wants it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


@dataclass(frozen=True)
class Reply:
    body: bytes | Iterable[bytes]
    """Pieces have no length announced; the connection's end is theirs."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def said(text: str | None, *, finish: str = "stop", usage: Mapping[str, int] = USAGE, **message: str) -> Reply:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return Reply(json.dumps({"choices": [choice], "usage": usage}).encode())


def refused(status: int, message: str) -> Reply:
    return Reply(json.dumps({"error": {"message": message}}).encode(), status)


def prompt_of(request: Json) -> str:
    return "\n".join(message["content"] for message in request["messages"])


def sensible(request: Json) -> Reply:
    """What a model might write: the tags follow from the stop strings, the choice from the request."""
    stops = sorted(request.get("stop") or [])
    draw = int(hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest(), 16)
    if not stops:
        return said(f"query {draw % 3}")
    stop = stops[draw % len(stops)]
    return said(f"I think so. {stop.replace('/', '')} thing {draw % 4} {stop}")


class Server:
    """Serves `respond` to every POST until the end of the block."""

    def __init__(self, respond: Callable[[Json], Reply] = sensible) -> None:
        self.respond = respond
        self.asked: list[Json] = []
        self.keys: set[str] = set()
        """That came with the requests."""
        self.sent = 0
        """Bytes of bodies that clients took."""

    def __enter__(self) -> Server:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one piece

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.keys.add(self.headers.get("Authorization", "").removeprefix("Bearer "))
                outer.asked.append(request)
                self.send(outer.respond(request))

            def do_GET(self) -> None:
                self.send(Reply(b'{"data": [{"id": "m", "owned_by": ""}]}'))

            def send(self, reply: Reply) -> None:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if isinstance(reply.body, bytes):
                    pieces: Iterable[bytes] = [reply.body]
                    self.send_header("Content-Length", str(len(reply.body)))
                else:
                    pieces = reply.body
                    self.send_header("Connection", "close")
                self.end_headers()
                with contextlib.suppress(ConnectionError):
                    for piece in pieces:
                        self.wfile.write(piece)
                        outer.sent += len(piece)

            def log_message(self, *arguments: object) -> None:
                pass

        class Listener(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *arguments: object) -> None:
                pass  # the client is gone

        self._listener = Listener(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._listener.server_port}/v1"
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.shutdown()
        self._thread.join()
        self._listener.socket.close()

    @property
    def model(self) -> list[str]:
        """The options that name it."""
        return ["--model", self.url, "--model-name", "m"]
