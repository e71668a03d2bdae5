"""A reward model that learns the share of good completions of states."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import espalier
import pytest
import torch
from espalier.errors import InputError
from espalier.export.reader import read_product
from espalier.train import prm
from espalier.train.data import Row
from espalier.train.examples import Dropped
from espalier.train.scorer import Scorer
from espalier.train.stages.prm import share_loss, state_text, states
from training import SMALL, scoring, write_rows


def step(score: float, *parts: tuple[str, str]) -> dict[str, Any]:
    return {"segments": [{"kind": kind, "text": text} for kind, text in parts], "score": score}


def row(number: int, query: str = "good", share: float = 0.75, end: float = 1.0) -> dict[str, Any]:
    steps = [
        step(0.5, ("queries", "None")),
        step(share, ("query", query), ("sub_answer", "x <y>")),
        step(end, ("answer", "y")),
    ]
    provenance = {"tree": f"q{number}", "node": 8, "method": "airrag"}
    return {"id": f"q{number}#{query}{end}", "question": "Who?", "steps": steps, "provenance": provenance}


def test_a_finished_path_is_told_as_a_search_tells_it(tmp_path: Path):
    texts: list[str] = []
    espalier.write_world(tmp_path, passages=200, questions=6, seed=5, max_hops=2)
    files = {"questions": tmp_path / "questions.jsonl", "corpus": tmp_path / "corpus.jsonl"}
    espalier.expand(**files, method="airrag", set={"rollouts": 6}, out=tmp_path / "run")
    with scoring(lambda text: float(texts.append(text) is not None)) as url:
        espalier.annotate(tmp_path / "run", {"prm": (url, "m")}, out=tmp_path / "judged")
    chains = list(read_product(tmp_path / "run", "prm"))
    assert texts and {state_text(chain)[0] for chain in chains} == set(texts)


def test_a_state_that_chains_share_stands_there_once(tmp_path: Path):
    data = write_rows(tmp_path, "prm", [row(1), row(1, end=0.5), row(2)])
    found = [one.record for one in states([Row(chain, 0) for chain in read_product(data, "prm")])]
    assert [(one.origin.tree, one.values[-1]) for one in found] == [
        ("q1", 0.5), ("q1", 0.75), ("q1", 1.0), ("q1", 0.5), ("q2", 0.5), ("q2", 0.75), ("q2", 1.0)
    ]  # fmt: skip
    text, at = state_text(found[1])
    assert text == "Who?\n\nQuery: good\nResponse: x &lt;y>\n\n\nx &lt;y>" and text[at:] == "x &lt;y>"
    with pytest.raises(Dropped, match="its history shows nothing yet"):
        state_text(found[0])


def test_the_loss_of_shares():
    # p = sigmoid(log 3) = 3/4 of a share of 1, and 1/2 of a share of 1/4: -log(3/4) and -log(1/2)
    loss = share_loss(torch.tensor([math.log(3), 0.0]), torch.tensor([1.0, 0.25]))
    assert loss.item() == pytest.approx(-math.log(3 / 4) + math.log(2))


def test_training_comes_near_the_shares_and_a_server_says_so(tiny: Path, tmp_path: Path):
    rows = [row(i, *(("good", 0.9, 1.0) if i % 2 else ("bad", 0.2, 0.0))) for i in range(24)]
    out = tmp_path / "out"
    more = {**SMALL, "max_steps": 60, "lr": 1e-2}
    prm(data=write_rows(tmp_path / "run", "prm", rows), model=str(tiny), out=out, labels="share", **more)
    noted = json.loads((out / "training.json").read_text())
    assert noted["states"]["error"] < 0.25 * noted["states"]["constant"] and noted["states"]["held_out"] > 0
    assert noted["lengths"]["dropped"] == {"its history shows nothing yet": 24}
    said = Scorer(out, "cpu")(
        [f"Who?\n\nQuery: {query}\nResponse: x &lt;y>\n\n\nx &lt;y>" for query in ("good", "bad")]
    )
    read = [0.5 + 0.5 * math.tanh(reward) for (reward,) in said]  # as a search reads it, from 0 to 1
    assert read == pytest.approx([0.9, 0.2], abs=0.15)


def test_rows_without_shares_and_shares_without_the_option(tiny: Path, tmp_path: Path):
    data = write_rows(tmp_path / "run", "prm", [row(1)])
    with pytest.raises(InputError, match=r"prm\.jsonl: row 'q1#good1\.0' is one for option 'labels' = share"):
        prm(data=data, model=str(tiny), out=tmp_path / "out", **SMALL)
    wrong = row(1)
    wrong["steps"][1]["score"] = 1.5
    with pytest.raises(InputError, match=r"row 'q1#good1\.0': a score of 1\.5 is no share"):
        prm(
            data=write_rows(tmp_path / "bad", "prm", [wrong]),
            model=str(tiny),
            out=tmp_path / "o",
            labels="share",
            **SMALL,
        )
