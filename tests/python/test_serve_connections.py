"""Clients of `espalier serve` that send slowly, or nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import espalier as esp
import pytest
from espalier.serve import connections, host, retriever
from espalier.serve.retriever import Limits
from serving import Client, against, door, until

LIMITS = Limits(topk=3, max_topk=50, max_queries=4, max_query=40, max_results=100, queue=2000, batch=8, time_limit=20)
WHOLE = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_HEADER = b"POST /retrieve HTTP/1.1\r\nHost: localh"
HALF_BODY = b"POST /retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n{"
HONEST = {"queries": ["a"]}


def passages(queries: Sequence[esp.Query]) -> list[list[esp.Passage]]:
    return [[esp.Passage("p", "T", query.text, 1)] for query in queries]


def check(test: Callable[[Client, Slow], Awaitable[None]], *, header: float = 60) -> None:
    """Runs a test against a server of its own."""

    async def run(client: Client) -> None:
        slow = Slow(client)
        try:
            await test(client, slow)
        finally:
            slow.close()

    at = door(header_seconds=header, seconds=60)
    against(lambda listening: retriever.serve(passages, at, LIMITS, listening), run)


class Clock:
    """The time by which the server's connections wait. It stands still unless a test moves it."""

    def __init__(self) -> None:
        self.seconds = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(connections, "now", lambda: made.seconds)
    return made


class Slow:
    """Connections that say a few bytes each and then no more."""

    def __init__(self, client: Client) -> None:
        address, port = client.url.removeprefix("http://").split(":")
        self._place = (address, int(port))
        self.sockets: list[socket.socket] = []

    async def connect(self, number: int, *sayings: bytes) -> None:
        loop = asyncio.get_running_loop()
        for i in range(number):
            one = socket.socket()
            one.setblocking(False)
            self.sockets.append(one)
            await loop.sock_connect(one, self._place)
            with suppress(ConnectionError):  # the server may have hung up already
                await loop.sock_sendall(one, sayings[i % len(sayings)])

    async def ended(self) -> bool:
        """Whether the server has hung up on all of them."""
        return all(closed(one) for one in self.sockets)

    def close(self) -> None:
        for one in self.sockets:
            one.close()


def closed(one: socket.socket) -> bool:
    with suppress(BlockingIOError):
        try:
            while one.recv(4096):
                pass
        except ConnectionError:
            pass
        return True
    return False


async def honest(client: Client, number: int) -> None:
    replies = await asyncio.gather(*(client.post("/retrieve", HONEST) for _ in range(number)))
    assert [status for status, _, _ in replies] == [200] * number


async def only_one(client: Client) -> bool:
    """Whether the client that asks is the only one."""
    return await client.metric("espalier_connections") == 1


def test_who_sends_no_whole_header_is_cut_off(clock: Clock):
    async def test(client: Client, slow: Slow) -> None:
        await slow.connect(60, b"", b"G", HALF_HEADER)
        # One more has sent a whole request before, and one sends a byte now and then.
        loop = asyncio.get_running_loop()
        await slow.connect(1, WHOLE)
        assert (await loop.sock_recv(slow.sockets[-1], 4096)).startswith(b"HTTP/1.1 200")
        await loop.sock_sendall(slow.sockets[-1], HALF_HEADER)
        await slow.connect(1, HALF_HEADER)

        async def all_counted() -> bool:
            return await client.metric("espalier_connections") == len(slow.sockets) + 1

        async def drip_until_ended() -> bool:
            clock.seconds += 0.01
            with suppress(ConnectionError):
                await loop.sock_sendall(slow.sockets[-1], b"x")
            return await slow.ended()

        await until(all_counted)
        await until(drip_until_ended)
        await until(lambda: only_one(client))

    check(test, header=0.4)


def test_a_connection_may_rest_between_requests_longer_than_a_header_may_take(clock: Clock):
    async def test(client: Client, slow: Slow) -> None:
        loop = asyncio.get_running_loop()
        await slow.connect(1, WHOLE)
        assert (await loop.sock_recv(slow.sockets[0], 4096)).startswith(b"HTTP/1.1 200")
        clock.seconds += 0.5
        await asyncio.sleep(0.1)  # four looks at the clock
        await loop.sock_sendall(slow.sockets[0], WHOLE)
        assert (await loop.sock_recv(slow.sockets[0], 4096)).startswith(b"HTTP/1.1 200")

    check(test, header=0.1)


def test_many_slow_clients_are_no_honest_ones_business():
    async def test(client: Client, slow: Slow) -> None:
        # Both ends of every connection are this process's files.
        await slow.connect(min(2000, host.allow_many_connections() - 250), b"", HALF_HEADER, HALF_BODY)
        for _ in range(3):
            await honest(client, 100)
        assert await client.metric("espalier_connections") >= len(slow.sockets)

    check(test)


def test_where_too_many_connect_those_go_who_have_waited_longest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "allow_many_connections", lambda: 40)

    async def test(client: Client, slow: Slow) -> None:
        await slow.connect(300, HALF_HEADER, HALF_BODY)
        await honest(client, 10)
        assert await client.metric("espalier_connections") <= 40

    check(test)


def test_a_body_counts_as_what_has_come_of_it():
    async def test(client: Client, slow: Slow) -> None:
        await slow.connect(100, HALF_BODY)  # announces 900 kB of the 320 kB that all bodies may have

        async def in_pieces():
            yield b'{"queries": '
            await asyncio.sleep(0.05)
            yield b'["a"]}'

        status, _, _ = await client.post("/retrieve", in_pieces())
        assert status == 200

    check(test)
