"""Clients of our servers, and what users do with a tree."""

from __future__ import annotations

import json
import resource
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from .package import COMMAND, Process, espalier, good, python, started, world
from .verdict import attack, attacked, held

CLIENTS = 2000
SECONDS = 5  # that our server gives a header, and a body


@contextmanager
def retrieval_server(folder: Path) -> Iterator[tuple[Process, int]]:
    """The process and the port of `espalier serve retriever`."""
    corpus = world(folder)[2:]
    limits = ["--header-time", SECONDS, "--body-time", SECONDS]
    with started([*COMMAND, "serve", "retriever", *corpus, *limits, "--port", 0, "--json"]) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())["port"]


def descriptors(process: Process) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def honest(port: int) -> int:
    """The status that one good request gets."""
    body = json.dumps({"queries": ["who is the founder"], "topk": 3}).encode()
    sent = urllib.request.Request(f"http://127.0.0.1:{port}/retrieve", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=30) as reply:
        return int(reply.status)


def besieged(folder: Path, begin: bytes, drip: bytes = b"") -> None:
    """2,000 clients send a beginning and, if anything, one drip after another; 100 honest ones come meanwhile."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    with retrieval_server(folder) as (process, port):
        attacked(honest(port) == 200, "the server does not serve")
        at_rest = descriptors(process)
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
        over = threading.Event()
        dripping = threading.Thread(target=drip_into, args=(slow, drip, over), daemon=True)
        try:
            for client in slow:
                client.sendall(begin)
            dripping.start()
            full = time.monotonic() + SECONDS
            while (most := descriptors(process) - at_rest) < CLIENTS and time.monotonic() < full:
                time.sleep(0.01)
            with ThreadPoolExecutor(20) as pool:
                statuses = list(pool.map(lambda _: honest(port), range(100)))
            held(statuses == [200] * 100, f"{100 - statuses.count(200)} of 100 honest clients failed")
            attacked(most > 0.9 * CLIENTS, f"only {most} slow clients came in")
            end = time.monotonic() + SECONDS + 15
            while (left := descriptors(process) - at_rest) > 20 and time.monotonic() < end:
                time.sleep(0.2)
            held(left <= 20, f"{left} descriptors are still held {SECONDS + 15} s later")
        finally:
            over.set()
            for client in slow:
                client.close()


def drip_into(clients: Sequence[socket.socket], drip: bytes, over: threading.Event) -> None:
    while drip and not over.wait(1):
        for client in clients:
            try:
                client.send(drip)
            except OSError:  # the server hung up
                continue


HEAD = b"POST /retrieve HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@attack
def headers_half_sent(folder: Path) -> None:
    """2,000 clients that send half a header are hung up on, and 100 honest ones beside them are served."""
    besieged(folder, HEAD)


@attack
def headers_in_drips(folder: Path) -> None:
    """2,000 clients that send a byte of a header a second are hung up on all the same."""
    besieged(folder, HEAD + b"X-Slow: ", b"a")


@attack
def bodies_half_sent(folder: Path) -> None:
    """2,000 clients that send half a body are hung up on, and 100 honest ones beside them are served."""
    besieged(folder, HEAD + b'Content-Length: 50\r\n\r\n{"queries"')


@attack
def clients_that_say_nothing(folder: Path) -> None:
    """2,000 clients that connect and send nothing are hung up on."""
    besieged(folder, b"")


COPIED = """
import copy, pickle, espalier as esp
world = esp.World(passages=60, questions=2, seed=1)
for method in ("decex", "decouple", "airrag", "prorag", "reasonrag"):
    trees = esp.run(esp.Method(method, set={"max_calls": 40}), world.questions, model=esp.Simulated(world.questions),
                    retriever=esp.Bm25(world.passages))
    for tree in trees:
        for again in (pickle.loads(pickle.dumps(tree)), copy.copy(tree), copy.deepcopy(tree)):
            assert again.to_json() == tree.to_json() and esp.best_answer(again) == esp.best_answer(tree), method
            assert again.question.id == tree.question.id and again.to_dict() == tree.to_dict(), method
        nodes = len(tree.nodes)
print(nodes, "nodes")
"""


@attack
def trees_that_are_copied(folder: Path) -> None:
    """A pickled or copied tree of any method is the same tree."""
    attacked("nodes" in good(python(COPIED)).out, "there were no trees")


@attack
def page_of_the_same_trees(folder: Path) -> None:
    """The same trees give the same report, whenever and however fast they grew."""
    inputs = world(folder)
    for name, in_flight in (("slow", 1), ("fast", 64)):
        good(espalier("expand", *inputs, "--in-flight", in_flight, "--out", folder / name))
    one, other = ((folder / name / "report.html").read_text().splitlines() for name in ("slow", "fast"))
    different = [line.strip() for line, same in zip(one, other, strict=False) if line != same]
    held(one == other, f"the pages differ: {different[:1]}")
