"""A small generated world, the command line in a process of its own, and servers to talk to."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from espalier import cli
from espalier.export.byte_tokenizer import byte_tokenizer

for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]  # the tests' servers are on the loopback

PARTS = esp.doctor.build_info()["parts"]
JOURNAL = PARTS["journal"] is None
if PARTS["json"] is not None:  # nothing can be read
    held = {"test_parts.py", "test_problem.py"}  # all the same
    collect_ignore = [file.name for file in Path(__file__).parent.glob("test_*.py") if file.name not in held]
if find_spec("aiohttp") is None or find_spec("prometheus_client") is None:
    collect_ignore_glob = ["test_serve_*.py"]

FILES = ("trees.jsonl", "answers.jsonl", "sft.jsonl", "dpo.jsonl")


@pytest.fixture(scope="session")
def world() -> esp.World:
    return esp.World(passages=300, questions=12, seed=5)


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a tokenizer that has a token for each byte."""
    folder = tmp_path_factory.mktemp("tokenizer")
    byte_tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def bm25(world: esp.World) -> esp.Bm25:
    return esp.Bm25(world.passages)


@pytest.fixture(scope="session")
def simulated(world: esp.World) -> esp.Simulated:
    return esp.Simulated(world.questions)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with questions.jsonl and corpus.jsonl of the same world."""
    folder = tmp_path_factory.mktemp("world")
    esp.write_world(folder, passages=300, questions=12, seed=5)
    return folder


@pytest.fixture(scope="session")
def data(files: Path) -> dict[str, Any]:
    """These two as keywords of a run."""
    return {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}


@pytest.fixture(scope="module")
def finished(files: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A finished run with the options that the file of tests names."""
    out = tmp_path_factory.mktemp("run")
    good("expand", *inputs(files), "--out", out, *request.module.SMALL)
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run of a file of tests."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def inputs(folder: Path) -> list[str]:
    paths = ["--questions", str(folder / "questions.jsonl"), "--corpus", str(folder / "corpus.jsonl")]
    return paths if JOURNAL else [*paths, "--no-journal"]


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # tests in the background; processes inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def start(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Runs the command beside the block, whose end waits for it; a block that fails kills it."""
    command = [sys.executable, "-m", "espalier.cli", *map(str, arguments)]
    environment = {k: v for k, v in os.environ.items() if k != "ESPALIER_DEBUG"}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **piped) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def espalier(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end in this process, which saves the start of another one."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    words = list(map(str, arguments))
    with redirect_stdout(out), redirect_stderr(err), alone():
        try:
            code = cli.main(words)
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, *(text.buffer.getvalue().decode() for text in (out, err)))


@contextmanager
def alone() -> Iterator[None]:
    """What a process of its own would have: the log and warnings go to standard error, ESPALIER_DEBUG is not set."""
    log, debug = logging.getLogger("espalier"), os.environ.pop("ESPALIER_DEBUG", None)
    handlers, log.handlers, log.propagate = log.handlers, [logging.lastResort], False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            yield
    finally:
        log.handlers, log.propagate = handlers, True
        if debug is not None:
            os.environ["ESPALIER_DEBUG"] = debug


def in_own_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end in a process of its own."""
    with start(*arguments) as process:
        out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def good(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a command that must succeed."""
    done = espalier(*arguments)
    assert done.returncode == 0, done.stderr
    return done


def refused(code: int, *arguments: object) -> str:
    """Runs a command that must end with this code; returns what it says. Of a mistake (2, 3) that is one line."""
    done = espalier(*arguments)
    assert done.returncode == code and (code == 1 or done.stderr.count("\n") == 1), done.stderr
    return done.stderr


def told(said: str, call: Callable[[], object], error: type[Exception] = ValueError) -> None:
    """Calls what must raise this error, which must say what matches."""
    with pytest.raises(error, match=said):
        call()


def expanded(folder: Path, out: Path, **settings: Any) -> esp.tables.RunTables:
    """A finished run over the questions and the corpus of a folder."""
    data = {name: folder / f"{name}.jsonl" for name in ("questions", "corpus")}
    esp.expand(**data, out=out, journal=None if JOURNAL else False, **settings)
    return esp.read_run(out)


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a run that must be equal to the byte."""
    return {name: (folder / name).read_bytes() for name in FILES}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def sensible(request: dict[str, Any]) -> str:
    """What a model might write: the tags follow from the stop strings, the choice from the request."""
    stops = request.get("stop") or []
    draw = int(hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest(), 16)
    if not stops:
        return f"query {draw % 3}"
    stop = sorted(stops)[draw % len(stops)]
    return f"I think so. {stop.replace('/', '')} thing {draw % 4} {stop}"


def completion(text: str, **told: object) -> tuple[int, bytes]:
    """`told`: more of its usage."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, **told}
    return 200, json.dumps({"choices": [choice], "usage": usage}).encode()


def sensibly(request: dict[str, Any]) -> tuple[int, bytes]:
    return completion(sensible(request))


@dataclass
class ModelServer:
    """An OpenAI-compatible server on the loopback. `respond` gives (status, body) for a request.

    In a build without curl it skips the test that starts it."""

    respond: Callable[[dict[str, Any]], tuple[int, bytes]] = sensibly
    owner: str = ""
    """Of its models, which says what sort of server it is."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    """Paths that were asked for by GET."""
    callers: set[int] = field(default_factory=set)
    """Ports from which a POST came: connections."""
    connected: set[int] = field(default_factory=set)
    """Ports of the connections that are open."""
    released: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> ModelServer:
        if PARTS["http"] is not None:
            pytest.skip("built without curl")
        outer = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128  # more connections at once than the default of 5

            def process_request(self, request: Any, client_address: Any) -> None:
                outer.connected.add(client_address[1])
                super().process_request(request, client_address)

            def process_request_thread(self, request: Any, client_address: Any) -> None:
                super().process_request_thread(request, client_address)
                outer.connected.discard(client_address[1])

            def handle_error(self, *arguments: object) -> None:
                pass  # the client is gone

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one piece

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(request)
                outer.callers.add(self.client_address[1])
                self.reply(*outer.respond(request))

            def do_GET(self) -> None:
                outer.questions.append(self.path)
                self.reply(200, json.dumps({"data": [{"id": "m", "owned_by": outer.owner}]}).encode())

            def reply(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        return self

    def settle(self) -> None:
        """Waits until all that processes sent which have ended is read."""
        with socket.create_connection(self._server.server_address) as last:  # accepted after all of theirs
            while last.getsockname()[1] not in self.connected:
                time.sleep(0.001)
        while self.connected:
            time.sleep(0.001)

    def __exit__(self, *error: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


needs_http = pytest.mark.skipif(PARTS["http"] is not None, reason="built without curl")
needs_journal = pytest.mark.skipif(not JOURNAL, reason="built without SQLite")
