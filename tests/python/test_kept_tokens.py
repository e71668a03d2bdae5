"""--keep-tokens: what a model samples reaches the journal, tokens.jsonl and the trainers' rows as it was sampled."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
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

        def run(out: Path, **more: Any) -> esp.parts.RunResult:
            shared = {"model": server.url, "model_name": "m", "constrain": "off", "limit": 3, "set": POLICY}
            return esp.expand(**data, **shared, out=out, **more)

        [one] = esp.OpenAi(server.url, "m")([esp.Prompt("q", keep_tokens=True)])
        assert one.token_ids == ids(one.text) and one.logprobs == [-0.25] * len(one.text)
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


def telling(data: dict[str, Path], tokens: Callable[[str], dict[str, Any]]) -> Callable[..., list[esp.Completion]]:
    """The simulated model, which tells its tokens where they are wanted."""
    simulated = esp.Simulated(esp.read_questions(data["questions"]))
    return lambda prompts: [
        esp.Completion(said.text, **(tokens(said.text) if prompt.keep_tokens else {}))
        for prompt, said in zip(prompts, simulated(prompts), strict=True)
    ]


def honest(text: str) -> dict[str, Any]:
    return {"token_ids": ids(text), "logprobs": [-0.5] * len(ids(text))}


@needs_journal
@pytest.mark.parametrize("method", ["prorag", "reasonrag"])
def test_a_model_of_ones_own_tells_its_tokens(data: dict, tmp_path: Path, tokenizer: str, method: str):
    given = {"model": telling(data, honest), "model_name": "telling", "method": method, "set": {"simulations": 6}}

    def run(name: str, **more: Any) -> Path:
        return esp.expand(**data, **given, limit=4, keep_tokens=True, out=tmp_path / name, **more).out

    lines = (run("whole") / "tokens.jsonl").read_bytes()
    [file] = export(tmp_path / "whole", "traces.trl", out=tmp_path / "out", tokenizer=tokenizer)
    assert file.rows and all(row["logprobs"] for row in rows(file.path))
    esp.merge([run(part, shard=f"{part}/2") for part in "12"], out=tmp_path / "merged")
    assert (tmp_path / "merged" / "tokens.jsonl").read_bytes() == lines
    if method == "prorag":
        esp.annotate(tmp_path / "whole", {"prm": (lambda asked: ["0.5"] * len(asked), "half")}, out=tmp_path / "noted")
        assert (tmp_path / "noted" / "tokens.jsonl").read_bytes() == lines


IDS = [([5, wrong], [-1.0, -1.0]) for wrong in (-1, 1 << 31, 1 << 40)]
LOGPROBS = [([5, 6], [-1.0, wrong]) for wrong in (0.5, math.nan, math.inf, -math.inf)]


@pytest.mark.parametrize("told", [*IDS, *LOGPROBS, ([5, 6], [-1.0]), ([5], [-1.0, -1.0]), ([], [-1.0])])
def test_tokens_that_cannot_be_are_left_out_and_the_text_stays(data: dict, tmp_path: Path, told: tuple[list, list]):
    tokens = dict(zip(("token_ids", "logprobs"), told, strict=True))
    one = esp.Completion("a", **tokens)
    assert (one.text, one.token_ids, one.logprobs) == ("a", [], [])
    given = {"model": telling(data, lambda text: tokens), "limit": 1, "journal": False}
    found = esp.expand(**data, **given, keep_tokens=True, out=tmp_path / "out")
    assert found.open == 0 and (found.out / "tokens.jsonl").read_text() == ""
    assert "sampled texts are not known" in found.summary["notes"]["tokens.jsonl"]


def test_a_reply_that_was_asked_for_again_is_marked(data: dict[str, Path], tmp_path: Path):
    def model(prompts: list[esp.Prompt]) -> list[esp.Completion]:
        texts = ["<answer> a </answer>" if len(one.messages) > 1 else "no form" for one in prompts]
        return [esp.Completion(text, **honest(text)) for text in texts]

    given = {"set": {**POLICY, "repair": True}, "limit": 1, "journal": False}
    run = esp.expand(**data, **given, model=model, keep_tokens=True, out=tmp_path / "out")
    assert "rollout.repair" in {row["purpose"] for row in rows(run.out / "tokens.jsonl")}
