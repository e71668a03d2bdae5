"""A process reward model: its texts, its loss, and what a server says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from espalier.errors import InputError
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.records import Origin, Pair
from espalier.export.tokenizer import Tokenizer
from espalier.train import prm
from espalier.train.examples import Dropped
from espalier.train.reward_text import reward_ids
from espalier.train.scorer import Scorer
from espalier.train.stages.prm import PairTrainer, RewardPair, example_of, ranking_loss
from training import SMALL, weights_of, write_rows


def row(number: int, chosen: str = "good", rejected: str = "bad") -> dict[str, Any]:
    return {
        "id": f"q{number}#5>6",
        "input": {"question": f"Who {number}?", "history": "(nothing yet)\n"},
        "chosen": {"new_step": chosen},
        "rejected": {"new_step": rejected},
        "label": {"reason": "", "chosen_reward": None, "rejected_reward": None},
        "provenance": {"tree": f"q{number}", "node": 5, "method": "prorag"},
    }


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.of(byte_tokenizer(), "bytes")


def read(ids: Any) -> str:
    return str(byte_tokenizer().decode(list(ids)))


def test_the_text_is_that_of_annotate(tokenizer: Tokenizer):
    pair = Pair(Origin("a", "q", ()), "Question: Who < he?\nsteps\n", "", "good", "bad", None)
    example = example_of(pair, tokenizer, 100)
    assert read(example.ids) == "Who &lt; he?\n\nsteps\n\n\ngood"
    assert read(example.rejected) == "Who &lt; he?\n\nsteps\n\n\nbad"


def test_the_newest_step_is_never_cut(tokenizer: Tokenizer):
    text = "Q\n\n0123456789\n\nstep"  # 3 + 10 + 2 + 4 bytes
    assert read(reward_ids(text, tokenizer, 12, 15) or []) == "Q\n\n789\n\nstep"
    assert read(reward_ids(text, tokenizer, 7, 15) or []) == "Q\n\nstep"
    assert reward_ids(text, tokenizer, 6, 15) is None
    assert read(reward_ids(text, tokenizer, 6) or []) == "Q\n\ntep"  # a server does not know where the step begins
    pair = Pair(Origin("a", "q", ()), "Question: Q\n0123456789", "", "long step", "bad", None)
    with pytest.raises(Dropped, match="question and step are longer than 8 tokens"):
        example_of(pair, tokenizer, 8)


def test_the_loss_of_pairs():
    # -log sigmoid(0) = log 2, and -log sigmoid(log 3) = -log(3/4)
    loss = ranking_loss(torch.tensor([0.0, math.log(3)]))
    assert loss.item() == pytest.approx(math.log(2) + math.log(4 / 3))


def test_both_sides_of_a_batch_are_padded():
    batch = PairTrainer.collate(SimpleNamespace(_pad=9), [RewardPair("a", [1, 2], [3]), RewardPair("b", [4], [5, 6])])
    assert batch["input_ids"].tolist() == [[1, 2], [4, 9], [3, 9], [5, 6]]
    assert batch["attention_mask"].tolist() == [[1, 1], [1, 0], [1, 0], [1, 1]]


def test_training_prefers_the_chosen_step_and_a_server_says_so(tiny: Path, tmp_path: Path):
    data = write_rows(tmp_path / "run", "prm", [row(i) for i in range(16)] + [row(99, "same", "same")])
    out = tmp_path / "out"
    prm(data=data, model=str(tiny), out=out, eval_share=0.3, **{**SMALL, "max_steps": 30, "lr": 1e-2})
    noted = json.loads((out / "training.json").read_text())
    assert noted["pairs"]["accuracy"] == 1 and noted["pairs"]["held_out"] > 0
    assert noted["lengths"]["dropped"] == {"chosen equals rejected": 1}
    scorer = Scorer(out, "cpu")
    texts = [f"Who 40?\n\n(nothing yet)\n\n\n{step}" for step in ("good", "bad")]
    [(good,), (bad,)] = scorer(texts)
    assert good > bad
    assert scorer(texts[:1])[0][0] == pytest.approx(good, abs=1e-5)
    with pytest.raises(ValueError, match="a text is empty"):
        scorer([""])


def test_adapters_are_merged_and_the_reward_is_trained_whole(tiny: Path, tmp_path: Path):
    data = write_rows(tmp_path / "run", "prm", [row(i) for i in range(16)])
    out = tmp_path / "out"
    prm(data=data, model=str(tiny), out=out, eval_share=0.3, lora=4, **{**SMALL, "max_steps": 30, "lr": 1e-2})
    before, after = weights_of(tiny), weights_of(out)
    changed = {name for name in before.keys() & after.keys() if not torch.equal(before[name], after[name])}
    assert changed and all("proj" in name for name in changed)
    assert after.keys() - before.keys() == {"score.weight"}
    [(good,), (bad,)] = Scorer(out, "cpu")([f"Who 40?\n\n(nothing yet)\n\n\n{step}" for step in ("good", "bad")])
    assert good > bad


def test_rows_of_another_sort_are_refused(tiny: Path, tmp_path: Path):
    scored = {
        "id": "q1#8", "question": "Who?", "steps": [{"segments": [{"kind": "answer", "text": "z"}], "score": 0.25}],
        "provenance": {"tree": "q1", "node": 8},
    }  # fmt: skip
    data = write_rows(tmp_path / "run", "prm", [scored])
    with pytest.raises(InputError, match=r"prm\.jsonl: row 'q1#8' is one for option 'labels' = share"):
        prm(data=data, model=str(tiny), out=tmp_path / "out", **SMALL)
