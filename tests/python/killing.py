"""A job over loopback servers that is killed again and again, and what it cost."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import ModelServer, completion, sensible, start


def everything(request: dict[str, Any]) -> tuple[int, bytes]:
    """A model, a retriever, a value server and an encoder in one: each reply follows from the request alone."""
    if "messages" in request:
        return completion(sensible(request))
    if "queries" in request:
        hits = [
            [
                {"document": {"id": f"{query}-{i}", "contents": f'"{query} {i}"\nfacts'}, "score": 1 - i / 9}
                for i in range(2)
            ]
            for query in request["queries"]
        ]
        return 200, json.dumps({"result": hits}).encode()
    if "texts" in request:
        values = [len(text) % 7 / 7 for text in request["texts"]]
        return 200, json.dumps({"plan": values, "search": values}).encode()
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    data = [{"index": i, "embedding": [len(text) % 5, 1.0]} for i, text in enumerate(texts)]
    return 200, json.dumps({"data": data}).encode()


@dataclass
class Tally:
    """What a killed run cost."""

    kills: int = 0
    twice_in_one_life: int = 0
    """Requests that one process sent more than once."""
    most_again: int = 0
    """The most requests of one killed process that were sent again: at most what it had in flight."""


def items(request: dict[str, Any]) -> list[str]:
    """What a message asks for: messages to a retriever join whatever queries wait, so each counts for itself."""
    if "queries" in request:
        return [f"query {query}" for query in request["queries"]]
    return [json.dumps(request, sort_keys=True)]


def kill_until_done(
    command: Sequence[object], out: Path, server: ModelServer, *, kills: int, every: int, seed: int, in_flight: int
) -> Tally:
    """Runs the command into `out`, killed after about `every` requests so many times; then lets it finish."""
    moments = random.Random(seed)
    tally = Tally()
    lives: list[list[str]] = []
    finished = False
    answer, enough, over = server.respond, None, threading.Event()

    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        if enough is not None and len(server.requests) > enough + in_flight:
            over.wait()  # whoever is to be killed does not come much further, however late that is
        return answer(request)

    server.respond = respond
    while not finished:
        server.requests.clear()
        over.clear()
        enough = moments.randrange(1, 2 * every) if tally.kills < kills else None
        with start(*command, "--model", server.url, "--in-flight", in_flight, "--out", out) as process:
            while process.poll() is None and (enough is None or len(server.requests) < enough):
                time.sleep(0.001)
            if process.poll() is None:
                time.sleep(moments.random() * 0.01)
                process.send_signal(signal.SIGKILL)
            _, err = process.communicate()
            tally.kills += process.returncode == -signal.SIGKILL
            finished = process.returncode == 0
            assert finished or process.returncode == -signal.SIGKILL, err
        over.set()
        server.settle()
        lives.append([item for request in server.requests for item in items(request)])
    count_costs(tally, lives)
    return tally


def count_costs(tally: Tally, lives: Sequence[Sequence[str]]) -> None:
    last: dict[str, int] = {}  # the life that asked last
    again: Counter[int] = Counter()
    for life, asked in enumerate(lives):
        once = set(asked)
        tally.twice_in_one_life += len(asked) - len(once)
        for item in once:
            if item in last:
                again[last[item]] += 1
            last[item] = life
    tally.most_again = max(again.values(), default=0)
