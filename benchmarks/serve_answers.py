"""Slots of a model server that `espalier serve answers` keeps busy, beside `espalier answer` over the same questions.

python benchmarks/serve_answers.py [--method reasonrag] [--questions 200] [--clients 64] [--slots 32]

The model server answers from its request alone, after a log-normal time (mean 50 ms) in one of its slots. Each client
asks its next question over HTTP when the last one is answered. Slot use is the time that slots were taken, over slots
times wall time; start-up of the searches and tail included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import espalier as esp
from aiohttp import web


async def model_server(slots: int) -> None:
    """Speaks chat completions at any path; GET tells what it did since it was asked last."""
    import hashlib
    import math
    import random

    free = asyncio.Semaphore(slots)
    taken = {"seconds": 0.0, "requests": 0}

    async def answer(request: web.Request) -> web.Response:
        body = await request.read()
        draw = random.Random(hashlib.sha256(body).digest())
        async with free:
            seconds = draw.lognormvariate(math.log(0.05) - 0.125, 0.5)
            await asyncio.sleep(seconds)
            taken["seconds"] += seconds
            taken["requests"] += 1
        stops = sorted(json.loads(body).get("stop") or [])
        stop = draw.choice(stops) if stops else ""
        text = f"I think so. {stop.replace('/', '')} thing {draw.randrange(9)} {stop}" if stop else "a query"
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})

    async def tell(request: web.Request) -> web.Response:
        told = dict(taken)
        taken.update(seconds=0.0, requests=0)
        return web.json_response(told)

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    app.router.add_get("/taken", tell)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print(json.dumps({"url": f"http://127.0.0.1:{runner.addresses[0][1]}"}), flush=True)
    await asyncio.Event().wait()


@contextmanager
def started(*command: str) -> Iterator[tuple[int, str]]:
    """A server's process id and URL; it is told to stop at the end."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.pid, json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


async def ask(url: str, name: str, texts: list[str], clients: int) -> None:
    left = iter(texts)

    async def client(session: aiohttp.ClientSession) -> None:
        for text in left:
            body = {"model": name, "messages": [{"role": "user", "content": text}]}
            async with session.post(f"{url}/v1/chat/completions", json=body) as reply:
                assert reply.status == 200, await reply.text()

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(client(session) for _ in range(clients)))


async def taken(url: str) -> dict[str, float]:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/taken") as reply:
        return await reply.json()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(name: str, url: str, slots: int, wall: float, cpu: float) -> float:
    """Prints a line; returns the slot use."""
    told = asyncio.run(taken(url))
    use = told["seconds"] / (slots * wall)
    print(f"{name:24} {told['requests']} requests in {wall:.1f} s, slots used {use:.1%}, {cpu:.2f} CPU s", flush=True)
    return use


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--method", default="reasonrag")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--slots", type=int, default=32)
    parser.add_argument("--serve-model", action="store_true", help="be the model server")
    options = parser.parse_args()
    if options.serve_model:
        asyncio.run(model_server(options.slots))
        return
    slots = str(options.slots)
    with (
        started(__file__, "--serve-model", "--slots", slots) as (_, url),
        tempfile.TemporaryDirectory() as folder,
    ):
        esp.write_world(folder, passages=5000, questions=options.questions)
        texts = [question.text for question in esp.read_questions(f"{folder}/questions.jsonl")]
        inputs = ["--corpus", f"{folder}/corpus.jsonl", "--model", url, "--model-name", "m", "--in-flight", slots]
        serve = ["-m", "espalier.cli", "serve", "answers", "--method", options.method, "--port", "0", "--json", *inputs]
        with started(*serve) as (pid, place):
            begin, cpu = time.perf_counter(), cpu_seconds(pid)
            asyncio.run(ask(place, f"espalier-{options.method}", texts, options.clients))
            ours = report("serve answers", url, options.slots, time.perf_counter() - begin, cpu_seconds(pid) - cpu)
        begin, cpu = time.perf_counter(), time.process_time()
        esp.answer(
            questions=f"{folder}/questions.jsonl",
            corpus=f"{folder}/corpus.jsonl",
            method=options.method,
            model=url,
            model_name="m",
            in_flight=options.slots,
            open_questions=options.clients,
            out=f"{folder}/run",
            journal=False,
        )
        run = report("answer", url, options.slots, time.perf_counter() - begin, time.process_time() - cpu)
        print(f"slot use, serve answers / answer: {ours / run:.3f}")


if __name__ == "__main__":
    main()
