"""Whole runs over a small generated world."""

import json
from pathlib import Path
from typing import Any

import espalier as esp
from fault_server import FaultServer

FILES = ("trees.jsonl", "answers.jsonl", "sft.jsonl", "dpo.jsonl")  # of which the same bytes are demanded


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def knowledge(world: Path) -> dict[str, Any]:
    """What a fault server has to know of a world."""
    golds = {row["question"]: row["golden_answers"][0] for row in rows(world / "questions.jsonl")}
    return {"golds": golds, "passages": rows(world / "corpus.jsonl")}


def expand(world: Path, server: FaultServer, out: Path, *, timeout: float = 1, **more: Any) -> esp.parts.RunResult:
    """Runs DecEx-RAG over a world, model and retriever at the server. An attempt that stalls is given up soon.
    Nothing is constrained unless asked: a decision for a server that takes grammars would be written into the trees."""
    more.setdefault("constrain", "off")
    return esp.expand(
        questions=world / "questions.jsonl", model=server.url, model_name="m", retriever=server.address, out=out,
        timeout=timeout, set={"n": 3}, **more,
    )  # fmt: skip
