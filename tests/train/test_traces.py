"""The loss of a packed tree, in which each shared node stands once, has the gradient of the mean over its branches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import espalier
import pytest
import torch
from espalier.export import export
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.io.rows import read_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A searched run with process rewards, whose prompts are short, and a tokenizer."""
    folder = tmp_path_factory.mktemp("traces")
    (folder / "prompts").mkdir()
    (folder / "prompts" / "step.txt").write_text("Q: {question}\n{history}>")
    (folder / "prompts" / "rollout.txt").write_text("Q: {question}\n{history}>")
    espalier.write_world(folder, passages=100, questions=8, seed=5, max_hops=2)
    espalier.expand(
        questions=folder / "questions.jsonl", corpus=folder / "corpus.jsonl", prompts=folder / "prompts",
        out=folder / "run", method="prorag", model="simulated",
        set={"documents": 1, "simulations": 6, "samples": 3, "annotate": "prm"},
    )  # fmt: skip
    byte_tokenizer().save_pretrained(folder / "tokenizer")
    return folder


def exported(folder: Path, format: str, advantage: str) -> list[Any]:
    out = folder / "out" / advantage
    [file] = export(
        folder / "run", format, out=out, tokenizer=str(folder / "tokenizer"), style="standard", advantage=advantage
    )
    return [row.fields for row in read_rows(file.path)]


def gradient(network: Any, loss: torch.Tensor) -> torch.Tensor:
    network.zero_grad()
    loss.backward()
    return torch.cat([one.grad.flatten().clone() for one in network.parameters() if one.grad is not None])


def packed_loss(network: Any, nodes: list[Any]) -> torch.Tensor:
    """Each node once. A token sees its node so far and the nodes above it. It is predicted from the one before it,
    which for a node's first token is the last of its parent."""
    starts, ends, ids, places, before = [], [], [], [], []
    for node in nodes:
        up = node["parent"]
        starts.append(len(ids))
        for i, token in enumerate(node["token_ids"]):
            last = len(ids) - 1 if i else (ends[up] if up is not None else -1)
            before.append(last)
            places.append(places[last] + 1 if last >= 0 else 0)
            ids.append(token)
        ends.append(len(ids) - 1)
    seen = torch.full((len(ids), len(ids)), torch.finfo(torch.float64).min, dtype=torch.float64)
    for number, node in enumerate(nodes):
        for at in range(starts[number], ends[number] + 1):
            seen[at, starts[number] : at + 1] = 0
            up = node["parent"]
            while up is not None:
                seen[at, starts[up] : ends[up] + 1] = 0
                up = nodes[up]["parent"]
    logits = network(
        input_ids=torch.tensor([ids]), position_ids=torch.tensor([places]), attention_mask=seen[None, None]
    ).logits[0]
    spoken = torch.log_softmax(logits, -1)
    loss = torch.zeros((), dtype=torch.float64)
    for number, node in enumerate(nodes):
        if not node["sampled"]:
            continue
        advantages = iter(node["advantages"])
        for i, (token, learned) in enumerate(zip(node["token_ids"], node["mask"], strict=True)):
            if learned:
                weight = node["loss_weights"]["share"][i] * next(advantages)
                loss = loss - weight * spoken[before[starts[number] + i], token]
    return loss


def branches_loss(network: Any, branches: list[Any]) -> torch.Tensor:
    loss = torch.zeros((), dtype=torch.float64)
    for one in branches:
        ids = torch.tensor([one["prompt_ids"] + one["completion_ids"]])
        begin = len(one["prompt_ids"])
        spoken = torch.log_softmax(network(input_ids=ids).logits[0, begin - 1 : -1], -1)
        chosen = spoken.gather(1, ids[0, begin:, None])[:, 0]
        weights = torch.tensor(one["env_mask"]) * torch.tensor(one["advantages"], dtype=torch.float64)
        loss = loss - (weights * chosen).sum() / len(branches)
    return loss


@pytest.mark.parametrize("advantage", ["outcome", "tree", "process"])
def test_the_gradient_of_a_packed_tree_is_the_mean_of_its_branches(folder: Path, network: Any, advantage: str):
    network.set_attn_implementation("eager")
    network.double()  # sums of thousands of tokens: the two differ by rounding alone
    traces = {one["id"]: one for one in exported(folder, "traces.prime_rl", advantage)}
    branches = exported(folder, "traces.trl", advantage)
    branching = 0
    for name, trace in traces.items():
        own = [one for one in branches if one["group"] == name]
        if len({one["reward"] for one in own}) < 2:
            continue  # all branches are worth the same
        if branching == 2:
            break
        branching += 1
        once = sum(len(node["token_ids"]) for node in trace["nodes"])
        assert once < sum(len(one["prompt_ids"]) + len(one["completion_ids"]) for one in own)
        whole = gradient(network, packed_loss(network, trace["nodes"]))
        parts = gradient(network, branches_loss(network, own))
        assert whole.abs().max() > 1e-4
        assert (whole - parts).abs().max() < 1e-5
    assert branching
