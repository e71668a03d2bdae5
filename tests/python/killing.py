"""A server that counts what it is asked, and a job over it that is killed again and again."""

import json
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from conftest import ModelServer, sensibly, start


def everything(request: dict[str, Any]) -> tuple[int, bytes]:
    """A model, a retriever, a value server and an encoder in one: each reply follows from the request alone."""
    if "messages" in request:
        return sensibly(request)
    if "queries" in request:
        hits = [
            [{"document": {"id": f"{q}-{i}", "contents": f'"{q} {i}"\nfacts'}, "score": 1 - i / 9} for i in range(2)]
            for q in request["queries"]
        ]
        return 200, json.dumps({"result": hits}).encode()
    if "texts" in request:
        values = [len(text) % 7 / 7 for text in request["texts"]]
        return 200, json.dumps({"plan": values, "search": values}).encode()
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    data = [{"index": i, "embedding": [len(text) % 5, 1.0]} for i, text in enumerate(texts)]
    return 200, json.dumps({"data": data}).encode()


def items(request: dict[str, Any]) -> list[str]:
    """What a message asks for: messages to a retriever join whatever queries wait, so each counts for itself."""
    if "queries" in request:
        return [f"query {query}" for query in request["queries"]]
    return [json.dumps(request, sort_keys=True)]


class Counted:
    """A server that counts what it is asked, and does something at a number of requests: all wait meanwhile.

    A prompt names its question, so no two shards ask the same. Queries to the retriever may be those of another shard,
    and do not count where the model alone does.
    """

    def __init__(self, *, model_alone: bool = False) -> None:
        self.server = ModelServer(self.respond)
        self.asked: Counter[str] = Counter()
        self._model_alone = model_alone
        self._at: list[tuple[int, Callable[[], object]]] = []
        self._lock = threading.Lock()

    def respond(self, request: dict[str, Any]) -> tuple[int, bytes]:
        if "messages" in request or not self._model_alone:
            with self._lock:
                self.asked.update(items(request))
                while self._at and self._at[0][0] <= self.asked.total():
                    self._at.pop(0)[1]()
        return everything(request)

    def at(self, number: int, do: Callable[[], object]) -> None:
        """Calls `do` once so many more requests have come."""
        self._at.append((self.asked.total() + number, do))
        self._at.sort(key=lambda planned: planned[0])

    @property
    def again(self) -> int:
        """Requests that came although they had come before."""
        return self.asked.total() - len(self.asked)


def kill_until_done(command: Sequence[object], counted: Counted, *, kills: int, every: int) -> None:
    """Runs the command, killed after about `every` requests so many times; then lets it finish."""
    moments = random.Random(3)
    line = [*command, "--model", counted.server.url]
    for kill in range(kills + 1):
        with start(*line) as process:
            if kill < kills:
                counted.at(moments.randrange(1, 2 * every), process.kill)
            _, err = process.communicate(timeout=120)
        counted.server.settle()
        assert process.returncode == (-signal.SIGKILL if kill < kills else 0), err
