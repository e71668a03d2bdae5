"""Whole runs against the tests' server that fails on purpose."""

from __future__ import annotations

import sys
from pathlib import Path

from .package import equal, espalier, explained, good, rows, world
from .verdict import attack, attacked, held

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "servers"))

from fault_server import FaultServer
from faults import PERMANENT, STREAMED, TRANSIENT

LINE = ["expand", "--model-name", "m", "--timeout", 1, "--set", "n=2"]


def at(server: FaultServer) -> list[str]:
    return ["--model", server.url, "--retriever", server.address]


def against_all(folder: Path, dialect: str, faults: list[str], questions: int, *more: str) -> None:
    """Every third attempt meets a fault; the run's bytes must be those of one that met none."""
    inputs = world(folder, questions=questions)
    passages = rows(Path(inputs[3]))
    for name, rate in (("calm", 0.0), ("stormy", 0.3)):
        with FaultServer(dialect, faults, rate, passages=passages) as server:
            good(espalier(*LINE, *inputs[:2], *at(server), *more, "--out", folder / name, limit=100))
    missed = [fault for fault in faults if not server.met[fault]]
    attacked(not missed, f"no attempt met {missed}")
    equal(folder / "stormy", folder / "calm")


@attack
def faults_of_every_kind(folder: Path) -> None:
    """Every transient fault at once, at 30 % of the attempts, changes no byte."""
    against_all(folder, "vllm", list(TRANSIENT), 8)


@attack
def faults_of_streams(folder: Path) -> None:
    """Every fault of a streamed reply at once, at 30 % of the attempts, changes no byte."""
    against_all(folder, "openai", list(STREAMED), 3, "--stream")


@attack
def faults_that_stay(folder: Path) -> None:
    """A permanent fault leaves its questions open, names itself, and the same line goes on without it."""
    inputs = world(folder, questions=2)
    passages = rows(Path(inputs[3]))
    with FaultServer("vllm", passages=passages) as server:
        good(espalier(*LINE, *inputs[:2], *at(server), "--out", folder / "calm"))
    for fault in PERMANENT:
        out = folder / fault
        with FaultServer("vllm", [fault], 1.0, passages=passages) as server:
            done = espalier(*LINE, *inputs[:2], *at(server), "--out", out)
            attacked(server.met[fault], "nobody asked")
            held(not server.followed, "a redirect was followed")
        explained(done)
        answers = rows(out / "answers.jsonl")
        held({row["status"] for row in answers} == {"open"}, f"{fault} leaves {[row['status'] for row in answers]}")
        held(all(row["error"] for row in answers), f"{fault} is not named")
        with FaultServer("vllm", passages=passages) as server:
            good(espalier(*LINE, *inputs[:2], *at(server), "--out", out))
        equal(out, folder / "calm")
