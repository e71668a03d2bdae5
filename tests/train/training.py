"""Small trainings, rows for them, and the weights that they give."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
from espalier.train import dpo, sft
from espalier.train.trainer import Watch
from safetensors.torch import load_file

SMALL: dict[str, Any] = {
    "device": "cpu", "max_steps": 4, "batch_tokens": 4096, "lr": 1e-3, "log_every": 1, "threads": 1,
}  # fmt: skip


def train_sft(data: Path, model: Path | str, out: Path, **more: Any) -> Any:
    return sft(data=data, model=str(model), out=out, **{**SMALL, **more})


def train_dpo(data: Path, model: Path | str, out: Path, **more: Any) -> Any:
    return dpo(data=data, model=str(model), out=out, **{**SMALL, **more})


def weights_of(folder: Path) -> Mapping[str, torch.Tensor]:
    """The model's, and those of heads beside it."""
    return {name: one for file in folder.glob("*.safetensors") for name, one in load_file(file).items()}


def same(a: Path, b: Path) -> bool:
    """Whether two folders hold equal weights, to the bit."""
    first, second = weights_of(a), weights_of(b)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def write_rows(folder: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def sft_row(prompt: str, completion: str, number: int = 0, **more: Any) -> dict[str, Any]:
    provenance = {"tree": f"q{number}", "nodes": [1], "method": "decex"}
    return {"id": f"q{number}#0", "prompt": prompt, "completion": completion, "provenance": provenance, **more}


def dpo_row(prompt: str, chosen: str, rejected: str, number: int = 0, **more: Any) -> dict[str, Any]:
    provenance = {"tree": f"q{number}", "chosen_node": 1, "rejected_node": 2, "margin": 0.5, "method": "decex"}
    texts = {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    return {"id": f"q{number}#1>2", "type": "execution", **texts, "provenance": provenance, **more}


@contextmanager
def scoring(score: Callable[[str], float]) -> Iterator[str]:
    """The address of a server that says a number of each text."""

    class Scores(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            texts = [texts] if isinstance(texts, str) else texts
            found = [{"index": i, "probs": [score(text)]} for i, text in enumerate(texts)]
            reply = json.dumps({"data": found}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Scores)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/classify"
    server.shutdown()
    thread.join()
    server.server_close()


class Killed(BaseException):
    """What no code catches, as a kill."""


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    original = Watch.on_step_begin

    def begin(self: Any, args: Any, state: Any, control: Any, **more: Any) -> Any:
        if state.global_step == step:
            raise Killed
        return original(self, args, state, control, **more)

    monkeypatch.setattr(Watch, "on_step_begin", begin)
