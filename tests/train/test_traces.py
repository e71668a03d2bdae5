"""The loss of a packed tree, in which each shared node stands once, has the gradient of the mean over its branches."""

from pathlib import Path
from typing import Any

import espalier
import pytest
import torch
from espalier.export import export
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.io.rows import read_rows

QUESTION = "Q: {question}\n{history}>"
SEARCHES: dict[str, tuple[dict[str, str], dict[str, object]]] = {
    "prorag": ({"step": QUESTION}, {"simulations": 6, "samples": 3, "annotate": "prm"}),
    "decex": ({"rollout": QUESTION}, {"k": 2, "n": 1}),
    "decouple": ({"step": QUESTION}, {"simulations": 8}),
    "reasonrag": (
        {"begin_reasoning": "Q: {question}>", "reasoning": QUESTION, "evidence": "{question}{query}{documents}>"},
        {"simulations": 16, "max_rounds": 2},
    ),
}
"""By method: its prompts, which are short, and its options."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of all methods, the first with process rewards, and a tokenizer."""
    folder = tmp_path_factory.mktemp("traces")
    espalier.write_world(folder, passages=100, questions=8, seed=5, max_hops=2)
    byte_tokenizer().save_pretrained(folder / "tokenizer")
    for method, (prompts, options) in SEARCHES.items():
        (folder / f"prompts-{method}").mkdir()
        for purpose, text in prompts.items():
            (folder / f"prompts-{method}" / f"{purpose}.txt").write_text(text)
        espalier.expand(
            questions=folder / "questions.jsonl", corpus=folder / "corpus.jsonl", prompts=folder / f"prompts-{method}",
            out=folder / method, method=method, model="simulated", set={"documents": 1, **options},
        )  # fmt: skip
    return folder


def exported(folder: Path, method: str, format: str, advantage: str) -> list[Any]:
    out = folder / "out" / method / advantage
    chosen = {"tokenizer": str(folder / "tokenizer"), "style": "standard", "advantage": advantage}
    [file] = export(folder / method, format, out=out, **chosen)
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
                weight = node["loss_weights"]["rl"][i] * next(advantages)
                loss = loss - weight * spoken[before[starts[number] + i], token]
    return loss


def branches_loss(network: Any, rows: list[Any]) -> torch.Tensor:
    """The mean over the branches. A branch has a row for each text that the policy saw."""
    loss = torch.zeros((), dtype=torch.float64)
    branches = {one["branch"] for one in rows}
    for one in rows:
        ids = torch.tensor([one["prompt_ids"] + one["completion_ids"]])
        begin = len(one["prompt_ids"])
        spoken = torch.log_softmax(network(input_ids=ids).logits[0, begin - 1 : -1], -1)
        chosen = spoken.gather(1, ids[0, begin:, None])[:, 0]
        weights = torch.tensor(one["env_mask"]) * torch.tensor(one["advantages"], dtype=torch.float64)
        loss = loss - (weights * chosen).sum() / len(branches)
    return loss


@pytest.mark.parametrize(
    ("method", "advantage"),
    [("prorag", "outcome"), ("prorag", "process"), ("decex", "tree"), ("decouple", "tree"),
     ("reasonrag", "process")],
)  # fmt: skip
def test_the_gradient_of_a_packed_tree_is_the_mean_of_its_branches(folder, network, method, advantage):
    network.set_attn_implementation("eager")
    network.double()  # sums of thousands of tokens: the two differ by rounding alone
    rows: dict[str, list[Any]] = {}
    for one in exported(folder, method, "traces.trl", advantage):
        rows.setdefault(one["group"], []).append(one)
    several = []  # the trees whose branches are not all worth the same
    for trace in exported(folder, method, "traces.prime_rl", advantage):
        if len({one["reward"] for one in rows[trace["id"]]}) > 1:
            once = sum(len(node["token_ids"]) for node in trace["nodes"])
            several.append((once, trace["id"], trace["nodes"]))
    once, name, nodes = min(several)
    assert once < sum(len(one["prompt_ids"]) + len(one["completion_ids"]) for one in rows[name])
    whole = gradient(network, packed_loss(network, nodes))
    parts = gradient(network, branches_loss(network, rows[name]))
    assert whole.abs().max() > 1e-4
    assert (whole - parts).abs().max() < 1e-5
