"""What both servers share: who may come in, sizes, errors, health, metrics, start and stop."""

import asyncio
import hmac
import ipaddress
import logging
import os
import resource
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import cast
from urllib.parse import urlsplit

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .. import _core
from ..io.files import read_text
from ..io.terminal import say, say_json
from .connections import Connections
from .limits import Gate, Refusal


class Metrics:
    """Requests by path and status with their latency. Servers add their own metrics to the registry."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, buckets: Sequence[float]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "espalier_requests", "Requests by path and status", ["path", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "espalier_request_seconds",
            "From a request's head to its answer's end",
            ["path"],
            buckets=buckets,
            registry=self.registry,
        )
        info = Gauge("espalier_info", "Version", ["version"], registry=self.registry)
        info.labels(_core.build_info()["version"]).set(1)

    def add(self, path: str, status: int, seconds: float) -> None:
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """A gauge that is read when somebody asks."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        return generate_latest(self.registry)


log = logging.getLogger("espalier.serve")

gone = 499
"""The status under which clients are counted that went away."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Listening = Callable[[str, int], None]
"""Told the URL and the port when clients may come."""


@dataclass(frozen=True)
class Door:
    """Where a server listens, who may come in, and how much one may bring."""

    host: str
    port: int
    key: bytes | None
    """None: whoever reaches the loopback may come in."""
    max_body: int
    """Bytes."""
    header_seconds: float
    """For a request's header to arrive, from its first byte or from the start of its connection."""
    body_seconds: float
    """For a request's body to arrive."""
    seconds: float
    """For an answer to be taken."""


@lru_cache(256)
def names_loopback(url: str) -> bool:
    return is_loopback(urlsplit(url).hostname or "")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def read_key(variable: str | None, file: str | None) -> bytes | None:
    """The key that clients must send, from an environment variable or a file. Raises ValueError without showing it."""
    if variable is not None and file is not None:
        raise ValueError("give --client-key-env or --client-key-file, not both")
    if variable is not None:
        key = os.environ.get(variable, "")
        source = f"the environment variable {variable}"
    elif file is not None:
        key, source = read_text(file, 1 << 16), f"the file {file}"
    else:
        return None
    if not key.strip():
        raise ValueError(f"{source} holds no key")
    return key.strip().encode()


def open_door(door: Door) -> Door:
    """Raises ValueError for a place that is open to others without a key."""
    if not is_loopback(door.host) and door.key is None:
        raise ValueError(
            f"option 'host' is {door.host}, which others reach: give --client-key-env or --client-key-file too"
        )
    return door


class Host:
    """Runs routes behind one door until SIGTERM or SIGINT, or until `fail`. Then it finishes the accepted requests."""

    def __init__(self, door: Door, metrics: Metrics) -> None:
        self.metrics = metrics
        self._door = door
        self._bodies = Gate(32 * door.max_body, "bytes", 1)
        self._connections = Connections(allow_many_connections(), door.header_seconds)
        metrics.watch("espalier_connections", "Connections that are open", lambda: self._connections.open)
        self._stopped = asyncio.Event()
        self._error: BaseException | None = None
        self._app = web.Application(client_max_size=door.max_body, middlewares=[self._observe, self._guard])
        self._app.router.add_get("/health", self._health)
        self._app.router.add_get("/metrics", self._show_metrics)

    def route(self, method: str, path: str, handler: Handler) -> None:
        self._app.router.add_route(method, path, handler)

    def fail(self, error: BaseException) -> None:
        """Stops the server. `run` will raise the error."""
        self._error = error
        self._stopped.set()

    async def body(self, request: web.Request) -> bytes:
        """What the client sent. Raises Refusal where it is too large or does not come."""
        too_large = Refusal(413, f"the body is larger than the {self._door.max_body} bytes allowed", "too_large")
        if (request.content_length or 0) > self._door.max_body:
            raise too_large
        try:
            if request.content.is_eof():  # it is all here, as it mostly is
                return await request.read()
            with self._connections.body(request.transport):
                return await asyncio.wait_for(self._read(request), self._door.body_seconds)
        except web.HTTPRequestEntityTooLarge:
            raise too_large from None
        except asyncio.TimeoutError:
            raise Refusal(408, "the body did not come in time", "timeout") from None

    async def _read(self, request: web.Request) -> bytes:
        """A body as it comes. Who announces much and sends little takes little room."""
        body = bytearray()
        try:
            async for piece in request.content.iter_any():
                self._bodies.enter(len(piece))
                body += piece
                if len(body) > self._door.max_body:
                    raise web.HTTPRequestEntityTooLarge(self._door.max_body, len(body))
            return bytes(body)
        finally:
            self._bodies.leave(len(body))

    async def send(self, request: web.Request, response: web.Response) -> web.Response:
        """Sends all of it, so that the caller knows when it takes no memory any more."""
        with sending(request, self._door.seconds):
            await response.prepare(request)
            await response.write_eof()
        return response

    async def run(self, *, grace: float, listening: Listening) -> None:
        """Serves. After a signal the accepted requests have `grace` seconds. A second signal does not wait."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGTERM, signal.SIGINT)
        runner = web.AppRunner(
            self._app,
            access_log=None,
            auto_decompress=False,  # a small body stays small
            handler_cancellation=True,
            lingering_time=1,  # with who still sends what was refused
            shutdown_timeout=grace,
        )
        await runner.setup()
        watching = asyncio.create_task(self._connections.watch())
        try:
            make = self._connections.watched(cast(Callable[[], asyncio.Protocol], runner.server))
            server = await loop.create_server(make, self._door.host, self._door.port, backlog=self._connections.backlog)
            for number in signals:
                loop.add_signal_handler(number, self._signalled)
            port = server.sockets[0].getsockname()[1]
            host = f"[{self._door.host}]" if ":" in self._door.host else self._door.host
            listening(f"http://{host}:{port}", port)
            await self._stopped.wait()
            server.close()
        finally:
            await runner.cleanup()
            watching.cancel()
            for number in signals:
                loop.remove_signal_handler(number)
        if self._error is not None:
            raise self._error

    def _signalled(self) -> None:
        if self._stopped.is_set():
            os._exit(130)
        self._stopped.set()

    @web.middleware
    async def _observe(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Errors as JSON, and a count of everything."""
        begin = time.perf_counter()
        resource = request.match_info.route.resource
        path = "other" if resource is None else resource.canonical
        status = gone
        try:
            with self._connections.request(request.transport):
                response = await self._answered(request, handler)
            status = response.status
            return response
        finally:
            self.metrics.add(path, status, time.perf_counter() - begin)

    @staticmethod
    async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refusal as refusal:
            return refused(refusal)
        except web.HTTPException as error:  # no such path, no such method
            reason = Refusal(error.status, f"{request.method} {request.path}: {error.reason}", "not_found")
            return refused(reason, {name: value for name, value in error.headers.items() if name == "Allow"})
        except ConnectionError:  # nobody is there to read this
            return web.Response(status=gone)
        except Exception as error:
            return refused(internal(error))

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._door.key is None:
            self._check_local(request)
        elif request.path != "/health":
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._door.key):
                raise Refusal(401, "a wrong API key, or none: send 'Authorization: Bearer KEY'", "invalid_api_key")
        return await handler(request)

    @staticmethod
    def _check_local(request: web.Request) -> None:
        """Keeps pages in a browser of this machine from using a server without a key."""
        for header, url in (("Host", f"//{request.host}"), ("Origin", request.headers.get("Origin"))):
            if url is not None and not names_loopback(url):
                said = f"the header {header} names another machine, and this server has no key"
                raise Refusal(403, said, "forbidden")

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _show_metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": self.metrics.content_type})


def internal(error: Exception) -> Refusal:
    """The message for a client after an unexpected error. The log gets the details."""
    log.error("an unexpected error", exc_info=error)
    return Refusal(500, f"the server failed ({type(error).__name__}); its log says more", "internal")


@contextmanager
def sending(request: web.Request, seconds: float) -> Iterator[None]:
    """Hangs up on a client that does not take its answer in time."""
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client went away")
    timer = asyncio.get_running_loop().call_later(seconds, transport.abort)
    try:
        yield
    finally:
        timer.cancel()


def allow_many_connections() -> int:
    """Raises this process's limit of open files, often 1,024 at first, and gives half of them to clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most // 2


def refused(refusal: Refusal, headers: dict[str, str] | None = None) -> web.Response:
    headers = dict(headers or {})
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return web.json_response(refusal.body(), status=refusal.status, headers=headers)


def announce(what: str, *, as_json: bool, **facts: object) -> Listening:
    """Says where the server listens, on standard output."""

    def listening(url: str, port: int) -> None:
        if as_json:
            say_json({"event": "listening", "serves": what, "url": url, "port": port, "pid": os.getpid(), **facts})
        else:
            say(f"{what} at {url}; Ctrl-C stops")

    return listening
