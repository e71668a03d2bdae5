"""A model and retrieval server on the loopback that fails on purpose."""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import json
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dialects import DIALECTS, MODEL, Json, Refused, encode, ollama_reply_to, reply_to
from faults import DAMAGED, PERMANENT, RELISTED, REPLACED, Answer


class FaultServer:
    """Answers as `dialect` does; the share `rate` of all attempts meets one of `faults` instead, drawn from the seed,
    the request and the number of the attempt, so that the order of arrival changes nothing. Serves the model's routes
    and /retrieve: the `passages` that have most words of the query. With `tls`, each attempt has a connection of its
    own and "TLS" is the only fault: it breaks the handshake."""

    def __init__(
        self,
        dialect: str = "vllm",
        faults: Sequence[str] = (),
        rate: float = 0.0,
        *,
        seed: int = 1,
        golds: Mapping[str, str] | None = None,
        passages: Sequence[Json] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.dialect = DIALECTS[dialect]
        self.met: Counter[str] = Counter()  # attempts by fault, "" = served
        self.followed = False  # somebody went where a redirect points
        self._faults, self._rate, self._seed = list(faults), rate, seed
        self._golds, self._tls = dict(golds or {}), tls
        self._passages = [(row, set(row["contents"].lower().split())) for row in passages]
        self._attempts: Counter[bytes] = Counter()
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._sockets: set[socket.socket] = set()
        self._closed_until = 0.0

    def __enter__(self) -> FaultServer:
        self._place = socket.socket()  # stays bound, so that nobody else gets the port while the listener is closed
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", 0))
        self._port = self._place.getsockname()[1]
        self._listen()
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        with self._lock:
            for one in {self._listener, *self._sockets}:
                _shut(one)
        self._acceptor.join()
        self._listener.close()
        self._place.close()

    @property
    def address(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def _listen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self._port), backlog=512)

    def _accept(self) -> None:
        number = 0
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                self._reopen()
                continue
            with self._lock:
                self._sockets.add(connection)
            number += 1
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _reopen(self) -> None:
        """The listener was closed to refuse connections: opens it again when the time has come."""
        self._listener.close()
        time.sleep(max(0.0, self._closed_until - time.monotonic()))
        self._listen()

    def _serve(self, connection: socket.socket, number: int) -> None:
        raw = connection
        with contextlib.suppress(OSError):  # the client is gone, or we stop
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls:
                fault = self._draw(b"%d" % number)
                self._count(fault)
                if fault == "TLS":
                    connection.sendall(b"this is no handshake")
                    _shut(connection)
                    raise ConnectionAbortedError  # wrap_socket would leak one that is not connected but was written to
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as incoming:
                while self._answer(connection, incoming):
                    pass
        with self._lock:
            self._sockets.discard(raw)
        raw.close()

    def _draw(self, key: bytes) -> str:
        """The fault that this attempt at a request meets, "" = none."""
        with self._lock:
            self._attempts[key] += 1
            text = b"%d %d " % (self._seed, self._attempts[key]) + key
            draw = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
            hit = bool(self._faults) and draw / 2**64 < self._rate
            return self._faults[draw % len(self._faults)] if hit else ""

    def _count(self, fault: str) -> None:
        with self._lock:
            self.met[fault] += 1

    def _answer(self, connection: socket.socket, incoming: Any) -> bool:
        """Answers one request. True if the connection stays open."""
        path = incoming.readline().split(b" ")[1:2]
        if not path:
            return False
        length = 0
        while (line := incoming.readline()) != b"\r\n":
            if not line:
                return False  # the client gave up
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        body = incoming.read(length)
        if len(body) < length:
            return False
        if path == [b"/elsewhere"]:
            self.followed = True
        fault = "" if self._tls else self._draw(path[0] + body)
        if instead := REPLACED.get(fault) or PERMANENT.get(fault):
            status, headers, reply = instead(self.dialect)
        else:
            status, headers, reply = self._good(path[0].decode(), body, fault)
        if self._tls:
            headers["Connection"] = "close"
        else:
            self._count(fault)
        headers["Content-Length"] = str(len(reply))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} Answer\r\n{lines}\r\n".encode()
        return self._send(connection, head, reply, fault) and not self._tls

    def _send(self, connection: socket.socket, head: bytes, reply: bytes, fault: str) -> bool:
        if fault == "stall":
            while connection.recv(1024):
                pass
            return False
        if fault == "refuse":
            self._closed_until = time.monotonic() + 0.2
            _shut(self._listener)
            _reset(connection)
            return False
        if fault == "reset":
            connection.sendall(head + reply[: len(reply) // 2])
            _reset(connection)
            return False
        if fault == "drip":
            for byte in head + reply:
                connection.sendall(bytes([byte]))
                time.sleep(0.0005)
            return True
        for part in (head, reply) if len(reply) > 1_000_000 else (head + reply,):  # no copy of 100 MB
            connection.sendall(part)
        return True

    def _good(self, path: str, body: bytes, fault: str) -> Answer:
        """An answer, whose content may be damaged."""
        try:
            reply = RELISTED.get(fault, dict)(self.reply_to(path, json.loads(body or b"null")))
        except Refused as refusal:
            return refusal.status, {}, encode(self.dialect.error(refusal.status, str(refusal), refusal.code))
        return 200, {}, DAMAGED.get(fault, bytes)(encode(reply))

    def reply_to(self, path: str, request: Json) -> Json:
        """A reply without a fault. Raises Refused."""
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": MODEL, "owned_by": self.dialect.owner}]}
        if path == "/retrieve" and request:
            return {"result": [self._search(query, request["topk"]) for query in request["queries"]]}
        if path in ("/v1/chat/completions", "/v1/completions"):
            return reply_to(self.dialect, request, self._golds)
        if path in ("/api/chat", "/api/generate") and self.dialect is DIALECTS["ollama"]:
            return ollama_reply_to(request, self._golds)
        raise Refused(404, "Not Found")

    def _search(self, query: str, k: int) -> list[Json]:
        words = set(query.lower().split())
        scores = ((len(words & found), -at) for at, (_, found) in enumerate(self._passages))
        best = heapq.nlargest(k, scores)
        return [{"document": self._passages[-at][0], "score": float(score)} for score, at in best]


def _shut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


def _reset(connection: socket.socket) -> None:
    """Ends a connection so that the other side sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
