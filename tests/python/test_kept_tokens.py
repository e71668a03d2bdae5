"""--keep-tokens: what a model samples reaches the journal, tokens.jsonl and the trainers' rows as it was sampled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import espalier as esp
from conftest import ModelServer, contents, needs_http, needs_journal, rows, sensible
from espalier.export import export
from espalier.export.byte_tokenizer import byte_tokenizer
from traced_run import ids

POLICY = {"form": "policy", "k": 2, "n": 2}


def vllm(request: dict[str, Any]) -> tuple[int, bytes]:
    """What vLLM replies: the text ends before the stop string, the ids behind it."""
    text = sensible({name: request.get(name) for name in ("messages", "stop", "seed")})
    before = text.rpartition(" </")[0] if request.get("stop") else text
    choice: dict[str, Any] = {"index": 0, "message": {"content": before}, "finish_reason": "stop"}
    if request.get("logprobs"):
        choice |= {"token_ids": ids(text), "logprobs": {"content": [{"token": "a", "logprob": -0.25}] * len(text)}}
    usage = {"prompt_tokens": 7, "completion_tokens": len(text)}
    return 200, json.dumps({"choices": [choice], "usage": usage}).encode()


@needs_http
@needs_journal
def test_the_tokens_of_a_server_reach_the_rows_and_are_never_paid_twice(data: dict, tmp_path: Path, tokenizer: str):
    kept, plain = tmp_path / "kept", tmp_path / "plain"
    with ModelServer(vllm, owner="vllm") as server:

        def run(out: Path, **more: Any) -> esp.runs.RunResult:
            shared = {"model": server.url, "model_name": "m", "constrain": "off", "limit": 3, "set": POLICY}
            return esp.expand(**data, **shared, out=out, **more)

        run(plain)
        assert "notes" not in run(kept, keep_tokens=True).summary
        assert contents(kept) == contents(plain)
        lines = (kept / "tokens.jsonl").read_bytes()
        server.requests.clear()
        (kept / "tokens.jsonl").unlink()
        assert not run(kept, keep_tokens=True).recognised and (kept / "tokens.jsonl").read_bytes() == lines
        assert run(kept, keep_tokens=True).recognised and run(kept).recognised
        late, texts = run(plain, keep_tokens=True), lines.count(b"\n")  # over a journal of before
        assert late.summary["notes"]["tokens.jsonl"] == f"the tokens of {texts} sampled texts are not known"
        assert (plain / "tokens.jsonl").read_text() == "" and not server.requests
    trees = {tree["id"]: tree for tree in rows(kept / "trees.jsonl")}
    for row in map(json.loads, lines.splitlines()):
        tree = trees[row["id"]]
        node = tree["nodes"][row["node"]] if row["rollout"] is None else tree["rollouts"][row["rollout"]]
        text = node["text"] if "steps" not in node else next(iter(node["steps"][row["at"]].values()))
        assert text in byte_tokenizer().decode(row["ids"]) and row["purpose"] in ("rollout", "forced_answer")
    esp.rescore(kept, {}, out=tmp_path / "scored")
    assert (tmp_path / "scored" / "tokens.jsonl").read_bytes() == lines
    [file] = export(kept, "traces.trl", out=tmp_path / "out", tokenizer=tokenizer)
    for row in rows(file.path):
        learned = [one for one, own in zip(row["completion_ids"], row["env_mask"], strict=True) if own]
        assert byte_tokenizer().decode(learned).startswith("I think so. <")
        assert row["logprobs"] == [-0.25 * own for own in row["env_mask"]]
    esp.expand(**data, model="simulated", limit=1, out=kept, overwrite=True)
    assert not (kept / "tokens.jsonl").exists()
