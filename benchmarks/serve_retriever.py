"""Parallel clients on `espalier serve retriever`, beside a bare server that answers as many bytes and searches nothing.

python benchmarks/serve_retriever.py [--clients 1000] [--requests 20000] [--passages 100000]

Each client keeps one connection and sends its next request when the last one is answered. Reports statuses, latencies,
requests per second of wall time and of the server's CPU time, and the server's memory before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import espalier as esp

BARE = """
import asyncio, sys
from aiohttp import web
body = b"x" * int(sys.argv[1])
async def answer(request):
    await request.read()
    return web.Response(body=body, content_type="application/json")
async def main():
    app = web.Application()
    app.router.add_post("/retrieve", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print('{"port": %d}' % runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


class Load:
    """What the clients share."""

    def __init__(self, requests: list[bytes], total: int) -> None:
        self.requests = requests
        self.total = self.left = total
        self.statuses: Counter[int] = Counter()
        self.seconds: list[float] = []
        self.size = 0
        self.ended = asyncio.Event()


class Client(asyncio.Protocol):
    """Sends a request after the other."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        if self._load.left == 0:
            self._transport.close()
            return
        self._load.left -= 1
        self._begin = time.perf_counter()
        self._transport.write(self._load.requests[self._load.left % len(self._load.requests)])

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        fields = head.lower().split(b"\r\n")
        length = next(int(field.split(b":")[1]) for field in fields if field.startswith(b"content-length:"))
        if len(body) < length:
            return
        load = self._load
        load.statuses[int(head[9:12])] += 1
        load.seconds.append(time.perf_counter() - self._begin)
        load.size = length
        self._received = b""
        if load.statuses.total() == load.total:
            load.ended.set()
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if self._load.left > 0 or error is not None:
            self._load.statuses[0] += 1  # the server hung up
            if self._load.statuses.total() == self._load.total:
                self._load.ended.set()


def request_of(text: str) -> bytes:
    body = json.dumps({"queries": [text], "topk": 3, "return_scores": True}).encode()
    return b"POST /retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int, field: str) -> float:
    """MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024


async def drive(port: int, load: Load, clients: int) -> float:
    loop = asyncio.get_running_loop()
    begin = time.perf_counter()
    for _ in range(clients):
        await loop.create_connection(lambda: Client(load), "127.0.0.1", port)
    await load.ended.wait()
    return time.perf_counter() - begin


def measure(name: str, command: list[str], load: Load, clients: int) -> float:
    """Prints a line; returns the requests a CPU second."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["port"]
        before, cpu = memory(server.pid, "VmRSS"), cpu_seconds(server.pid)
        wall = asyncio.run(drive(port, load, clients))
        cpu = cpu_seconds(server.pid) - cpu
        after, peak = memory(server.pid, "VmRSS"), memory(server.pid, "VmHWM")
        server.send_signal(signal.SIGTERM)
    ranked = sorted(load.seconds)
    p50, p99 = (1000 * ranked[int(share * (len(ranked) - 1))] for share in (0.5, 0.99))
    print(
        f"{name:24} {dict(load.statuses)} p50 {p50:.0f} ms, p99 {p99:.0f} ms, {load.total / wall:,.0f} requests/s, "
        f"{load.total / cpu:,.0f} a CPU second; memory {before:.0f} -> {after:.0f} MiB, peak {peak:.0f}",
        flush=True,
    )
    return load.total / cpu


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--passages", type=int, default=100_000)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        esp.write_world(folder, passages=options.passages, questions=500)
        questions = [question.text for question in esp.read_questions(Path(folder, "questions.jsonl"))]
        requests = [request_of(text) for text in questions]
        serve = [
            "-m",
            "espalier.cli",
            "serve",
            "retriever",
            "--corpus",
            f"{folder}/corpus.jsonl",
            "--port",
            "0",
            "--json",
        ]
        ours = Load(requests, options.requests)
        rate = measure("espalier serve retriever", serve, ours, options.clients)
        bare = measure("bare aiohttp", ["-c", BARE, str(ours.size)], Load(requests, options.requests), options.clients)
        print(f"ours / bare, requests a CPU second: {rate / bare:.2f}")
        small = [*serve, "--queue", str(100 * 3)]
        measure("with a queue of 100", small, Load(requests, options.requests), options.clients)


if __name__ == "__main__":
    main()
