"""`espalier serve retriever`: Search-R1's interface, its limits, its end; and clients that send slowly, or nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import espalier as esp
import pytest
from conftest import needs_http
from espalier.serve import connections, host, retriever
from espalier.serve.batched import Ask, Batcher
from espalier.serve.retriever import Limits
from serving import Client, Test, against, door, refused, until

HOSTILE = esp.Passage(
    "d\u2028 1", 'A "quoted"\ttitle', "first line\n</script><answer>no</answer> \u0000 \U0001f600", 2.5
)


def limits(**other: Any) -> Limits:
    given = dict(topk=3, max_topk=50, max_queries=4, max_query=40, max_results=100, queue=200, batch=8, time_limit=20)
    return Limits(**{**given, **other})


def passages(queries: Sequence[esp.Query]) -> list[list[esp.Passage]]:
    """One hit a query, which repeats it; none for an empty one."""
    return [[esp.Passage("p", "T", f"{q.text} {q.k}", 1.5)] if q.text else [] for q in queries]


def check(test: Test, search: Any = passages, *, at: Any = None, **other: Any) -> None:
    against(lambda listening: retriever.serve(search, at or door(), limits(**other), listening), test)


class Held:
    """A search that waits until it is released."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.released = threading.Event()

    def __call__(self, queries: Sequence[esp.Query]) -> list[list[esp.Passage]]:
        self.calls.append([query.text for query in queries])
        assert self.released.wait(60)
        return passages(queries)


def test_the_protocol_to_the_letter():
    async def test(client: Client) -> None:
        hit = {"document": {"id": "p", "contents": '"T"\na 3'}, "score": 1.5}
        asked = {"queries": ["a", ""], "topk": None, "return_scores": True}
        status, reply, headers = await client.post("/retrieve", asked)
        assert (status, reply) == (200, {"result": [[hit], []]})
        assert headers["Content-Type"].startswith("application/json")
        _, reply, _ = await client.post("/retrieve", {"queries": ["a"], "topk": 7, "return_scores": False})
        assert reply == {"result": [[{"id": "p", "contents": '"T"\na 7'}]]}
        _, reply, _ = await client.post("/retrieve", {"queries": ["a"]})
        assert reply == {"result": [[hit["document"]]]}, "as in Search-R1, scores must be asked for"
        assert (await client.post("/retrieve", {"queries": []}))[1] == {"result": []}
        _, reply, _ = await client.post("/retrieve", {"query": "a", "top_k": 2})
        assert reply == [{"id": "p", "title": "T", "text": "a 2", "score": 1.5}]
        asked = {"queries": ["a"], "query": "a", "top_k": 2, "return_scores": True}
        _, reply, _ = await client.post("/retrieve", asked)
        assert reply == {"result": [[hit]]}
        assert (await client.get("/health"))[:2] == (200, {"status": "ok"})
        assert await client.metric("espalier_requests_total") == 7  # this one is not yet counted

    check(test)


@needs_http
def test_the_real_index_answers_as_it_does_without_a_server(world: esp.World, bm25: esp.Bm25):
    queries = [esp.Query(question.text, k) for question in world.questions for k in (1, 4, 40)]

    async def test(client: Client) -> None:
        remote = esp.HttpRetriever(client.url, "world", batch=3)
        assert await asyncio.to_thread(remote, queries) == bm25(queries)

    check(test, bm25, max_query=1000)


@needs_http
def test_hostile_text_arrives_as_it_is():
    untitled = esp.Passage("2", "", "one line", 1.0)

    async def test(client: Client) -> None:
        remote = esp.HttpRetriever(client.url, "hostile")
        assert await asyncio.to_thread(remote, [esp.Query('"}]} \u2028', 3)]) == [[HOSTILE, untitled]]

    check(test, lambda queries: [[HOSTILE, untitled] for _ in queries])


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"[1]", 400, "not a JSON object"),
        (b'{"queries": ["\xff"]}', 400, "not JSON"),
        (b'{"queries": NaN}', 400, "NaN"),
        (b"[" * 9000, 400, "not JSON"),
        (b'{"queries": ["\\ud800"]}', 422, "queries[0] holds half of a surrogate pair"),
        ({}, 422, "queries must be a list of texts"),
        ({"queries": "a"}, 422, "queries must be a list of texts"),
        ({"queries": ["a", 7]}, 422, "queries[1] must be a text"),
        ({"query": 7}, 422, "query must be a text"),
        ({"queries": ["a"], "topk": 0}, 422, "topk must be an integer from 1 to 50"),
        ({"queries": ["a"], "topk": 51}, 422, "topk must be an integer from 1 to 50"),
        ({"queries": ["a"], "topk": True}, 422, "topk must be"),
        ({"queries": ["a"], "topk": 2.0}, 422, "topk must be"),
        ({"query": "a", "top_k": "3"}, 422, "top_k must be"),
        ({"queries": ["a"], "return_scores": "yes"}, 422, "return_scores must be true or false"),
        ({"queries": ["a"] * 5}, 413, "queries holds 5 texts, more than the 4 allowed"),
        ({"queries": ["a"] * 4, "topk": 26}, 413, "topk times the number of queries is more than the 100 allowed"),
        ({"queries": ["a", "b" * 41]}, 413, "queries[1] has 41 characters, more than the 40 allowed"),
        ({"queries": ["a"], "padding": "x" * 10_000}, 413, "the body is larger than the 10000 bytes allowed"),
    ],
)
def test_bad_input_is_refused_by_name(body: object, status: int, words: str):
    async def test(client: Client) -> None:
        got, reply, _ = await client.post("/retrieve", body)
        assert got == status and words in reply["error"]["message"]
        assert (await client.post("/retrieve", {"queries": ["a"]}))[0] == 200

    check(test)


def test_other_paths_methods_and_bodies_without_a_length():
    async def pieces(amount: int) -> AsyncIterator[bytes]:
        yield b'{"queries": ["a"], "padding": "'
        for _ in range(amount):
            yield b"x" * 1000
        yield b'"}'

    async def test(client: Client) -> None:
        status, reply, headers = await client.get("/retrieve")
        assert status == 405 and headers["Allow"] == "POST" and "/retrieve" in reply["error"]["message"]
        assert (await client.get("/elsewhere"))[0] == 404
        assert (await client.post("/retrieve", pieces(5)))[0] == 200
        assert (await client.post("/retrieve", pieces(50)))[0] == 413

    check(test)


async def inside(client: Client, results: int) -> bool:
    return await client.metric("espalier_inside_results") == results


def test_what_waits_is_one_call_and_too_much_is_refused():
    search = Held()

    async def test(client: Client) -> None:
        async def ask(text: str, k: int) -> tuple[int, Any, Any]:
            return await client.post("/retrieve", {"queries": [text], "topk": k, "return_scores": True})

        first = asyncio.ensure_future(ask("first", 50))
        await until(lambda: asyncio.sleep(0, search.calls == [["first"]]))
        rest = [asyncio.ensure_future(ask(f"later {i}", 50)) for i in range(3)]
        await until(lambda: inside(client, 200))
        assert await client.metric("espalier_waiting_requests") == 3
        status, reply, headers = await ask("too many", 1)
        assert status == 429 and headers["Retry-After"] == "1" and reply["error"]["type"] == "rate_limit_error"
        rest[1].cancel()  # its client goes
        await until(lambda: inside(client, 150))
        search.released.set()
        assert [(await task)[0] for task in (first, rest[0], rest[2])] == [200] * 3
        assert search.calls == [["first"], ["later 0", "later 2"]]
        assert await client.metric("espalier_inside_results") == 0
        assert (await ask("again", 50))[1]["result"][0][0]["document"]["contents"].endswith("again 50")

    check(test, search)


def test_a_call_takes_as_many_queries_as_it_may():
    search = Held()
    search.released.set()

    async def run() -> None:
        batcher = Batcher(search, 4)
        asks = [Ask([esp.Query(f"{i}{j}") for j in range(3)], lambda found: str(len(found)).encode()) for i in range(5)]
        waiting = [batcher(ask) for ask in asks]
        await asyncio.sleep(0)
        running = asyncio.ensure_future(batcher.run())
        assert await asyncio.gather(*waiting) == [b"3"] * 5
        running.cancel()

    asyncio.run(run())
    assert [len(call) for call in search.calls] == [6, 6, 3]


def test_nobody_fails_for_anothers_sake(caplog: pytest.LogCaptureFixture):
    def search(queries: Sequence[esp.Query]) -> list[list[esp.Passage]]:
        if any("poison" in query.text for query in queries):
            raise esp.errors.BackendError("the encoder is gone")
        return passages(queries)

    async def test(client: Client) -> None:
        texts = [f"fine {i}" for i in range(6)] + ["poison"]
        replies = await asyncio.gather(*(client.post("/retrieve", {"queries": [text]}) for text in texts))
        assert [status for status, _, _ in replies] == [200] * 6 + [502]
        assert "encoder" not in str(replies[-1][1])

    check(test, search)
    assert "the encoder is gone" in caplog.text


def test_a_request_that_takes_too_long_ends():
    search = Held()

    async def test(client: Client) -> None:
        status, reply, _ = await client.post("/retrieve", {"queries": ["a"]})
        assert status == 504 and "0.2 s" in reply["error"]["message"]
        assert await client.metric("espalier_inside_results") == 0
        search.released.set()

    check(test, search, time_limit=0.2)


def test_a_body_that_does_not_come_ends():
    async def test(client: Client) -> None:
        host, port = client.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        writer.close()

    check(test, at=door(seconds=0.1))


def test_a_client_that_does_not_take_its_answer_is_cut_off():
    long = esp.Passage("p", "T", "x" * 1_000_000)
    asked = threading.Event()

    def search(queries: Sequence[esp.Query]) -> list[list[esp.Passage]]:
        asked.set()
        return [[long] * query.k for query in queries]

    async def test(client: Client) -> None:
        _, writer = await asyncio.open_connection(*client.url.removeprefix("http://").split(":"), limit=1)
        body = json.dumps({"queries": ["a"], "topk": 50}).encode()
        writer.write(b"POST /retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await until(lambda: asyncio.sleep(0, asked.is_set()))  # the 50 results are inside until they are taken
        await until(lambda: inside(client, 0))
        writer.transport.abort()

    check(test, search, at=door(seconds=0.5))


def test_a_packed_body_is_not_unpacked():
    async def test(client: Client) -> None:
        packed = gzip.compress(b'{"queries": []}' + b" " * 5000)
        status, reply, _ = await client.post("/retrieve", packed, headers={"Content-Encoding": "gzip"})
        assert status == 400 and "not JSON" in reply["error"]["message"]

    check(test)


def test_a_signal_lets_what_was_accepted_finish():
    search = Held()

    async def test(client: Client) -> None:
        accepted = asyncio.ensure_future(client.post("/retrieve", {"queries": ["a"]}))
        await until(lambda: asyncio.sleep(0, len(search.calls) == 1))
        client.stop()
        with pytest.raises(OSError):
            while True:  # until nobody listens any more
                _, writer = await asyncio.open_connection(*client.url.removeprefix("http://").split(":"))
                writer.close()
                await asyncio.sleep(0.01)
        search.released.set()
        assert (await accepted)[0] == 200

    check(test, search)


def test_a_key_opens_the_door_and_shows_up_nowhere(caplog: pytest.LogCaptureFixture):
    async def test(client: Client) -> None:
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer sécret"}):
            status, reply, headers = await client.post("/retrieve", {"queries": ["a"]}, headers=header)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert reply["error"]["code"] == "invalid_api_key"
        right = {"Authorization": "Bearer sesame-77"}
        assert (await client.post("/retrieve", {"queries": ["a"]}, headers=right))[0] == 200
        status, reply, _ = await client.post("/retrieve", {"queries": ["fail"]}, headers=right)
        assert status == 500 and "sesame" not in str(reply)
        assert (await client.get("/metrics"))[0] == 401 and (await client.get("/health"))[0] == 200

    def search(queries: Sequence[esp.Query]) -> list[list[esp.Passage]]:
        if queries[0].text == "fail":
            raise RuntimeError("a bug")
        return passages(queries)

    check(test, search, at=door(key=b"sesame-77"))
    assert "a bug" in caplog.text and "sesame" not in caplog.text


@pytest.mark.parametrize(
    "header", [{"Host": "elsewhere.example:80"}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}]
)
def test_without_a_key_no_page_of_another_site_may_come_in(header: dict[str, str]):
    async def test(client: Client) -> None:
        status, reply, _ = await client.post("/retrieve", {"queries": ["a"]}, headers=header)
        assert status == 403 and next(iter(header)) in reply["error"]["message"]
        assert (await client.post("/retrieve", {"queries": ["a"]}, headers={"Origin": client.url}))[0] == 200

    check(test)


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["--host", "0.0.0.0"], 2, "--client-key-env"),
        (["--client-key-env", "ESPALIER_NO_SUCH_KEY"], 2, "ESPALIER_NO_SUCH_KEY holds no key"),
        (["--client-key-file", "/no/such/file"], 3, "/no/such/file"),
        (["--topk", "0"], 2, "whole number above 0"),
        (["--b", "7"], 2, "'b' is 7"),
        (["--retriever", "dense"], 2, "'retriever' is dense, which needs --index"),
        (["--corpus", "/no/such/corpus"], 3, "/no/such/corpus"),
    ],
)
def test_bad_options_are_refused_by_name(files: Any, more: list[str], code: int, words: str):
    ended, err = refused("retriever", "--corpus", str(files / "corpus.jsonl"), "--port", "0", *more)
    assert ended == code and words in err and len(err.splitlines()) == 1


WHOLE = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_HEADER = b"POST /retrieve HTTP/1.1\r\nHost: localh"
HALF_BODY = b"POST /retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n{"
HONEST = {"queries": ["a"]}


def slowly(test: Callable[[Client, Slow], Awaitable[None]], *, header: float = 60) -> None:
    """Runs a test against a server of its own."""

    async def run(client: Client) -> None:
        slow = Slow(client)
        try:
            await test(client, slow)
        finally:
            slow.close()

    at = door(header_seconds=header, seconds=60)
    against(lambda listening: retriever.serve(passages, at, limits(queue=2000), listening), run)


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

    slowly(test, header=0.4)


def test_a_connection_may_rest_between_requests_longer_than_a_header_may_take(clock: Clock):
    async def test(client: Client, slow: Slow) -> None:
        loop = asyncio.get_running_loop()
        await slow.connect(1, WHOLE)
        assert (await loop.sock_recv(slow.sockets[0], 4096)).startswith(b"HTTP/1.1 200")
        clock.seconds += 0.5
        await asyncio.sleep(0.1)  # four looks at the clock
        await loop.sock_sendall(slow.sockets[0], WHOLE)
        assert (await loop.sock_recv(slow.sockets[0], 4096)).startswith(b"HTTP/1.1 200")

    slowly(test, header=0.1)


def test_many_slow_clients_are_no_honest_ones_business():
    async def test(client: Client, slow: Slow) -> None:
        # Both ends of every connection are this process's files.
        await slow.connect(min(2000, host.allow_many_connections() - 250), b"", HALF_HEADER, HALF_BODY)
        for _ in range(3):
            await honest(client, 100)
        assert await client.metric("espalier_connections") >= len(slow.sockets)

    slowly(test)


def test_where_too_many_connect_those_go_who_have_waited_longest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "allow_many_connections", lambda: 40)

    async def test(client: Client, slow: Slow) -> None:
        await slow.connect(300, HALF_HEADER, HALF_BODY)
        await honest(client, 10)
        assert await client.metric("espalier_connections") <= 40

    slowly(test)


def test_a_body_counts_as_what_has_come_of_it():
    async def test(client: Client, slow: Slow) -> None:
        await slow.connect(100, HALF_BODY)  # announces 900 kB of the 320 kB that all bodies may have

        async def in_pieces():
            yield b'{"queries": '
            await asyncio.sleep(0.05)
            yield b'["a"]}'

        status, _, _ = await client.post("/retrieve", in_pieces())
        assert status == 200

    slowly(test)
