"""A process reward model: its texts, its loss, and what a server says."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import espalier
import pytest
import torch
from espalier.errors import InputError
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.reader import read_product
from espalier.export.records import Origin, Pair
from espalier.export.tokenizer import Tokenizer
from espalier.train import prm
from espalier.train.data import Row
from espalier.train.examples import Dropped
from espalier.train.scorer import Scorer
from espalier.train.stages.prm import PairTrainer, RewardPair, example_of, ranking_loss, share_loss, state_text, states
from espalier.train.value_text import reward_ids
from training import SMALL, scoring, weights_of, write_rows


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


def step(score: float, *parts: tuple[str, str]) -> dict[str, Any]:
    return {"segments": [{"kind": kind, "text": text} for kind, text in parts], "score": score}


def state_row(number: int, query: str = "good", share: float = 0.75, end: float = 1.0) -> dict[str, Any]:
    steps = [step(0.5, ("queries", "None")), step(share, ("query", query), ("sub_answer", "x <y>"))]
    steps.append(step(end, ("answer", "y")))
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
    data = write_rows(tmp_path, "prm", [state_row(1), state_row(1, end=0.5), state_row(2)])
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
    rows = [state_row(i, *(("good", 0.9, 1.0) if i % 2 else ("bad", 0.2, 0.0))) for i in range(24)]
    out = tmp_path / "out"
    more = {**SMALL, "max_steps": 60, "lr": 1e-2}
    prm(data=write_rows(tmp_path / "run", "prm", rows), model=str(tiny), out=out, labels="share", **more)
    noted = json.loads((out / "training.json").read_text())
    assert noted["states"]["error"] < 0.25 * noted["states"]["constant"] and noted["states"]["held_out"] > 0
    assert noted["lengths"]["dropped"] == {"its history shows nothing yet": 24}
    texts = [f"Who?\n\nQuery: {query}\nResponse: x &lt;y>\n\n\nx &lt;y>" for query in ("good", "bad")]
    said = Scorer(out, "cpu")(texts)
    read = [0.5 + 0.5 * math.tanh(reward) for (reward,) in said]  # as a search reads it, from 0 to 1
    assert read == pytest.approx([0.9, 0.2], abs=0.15)


def test_rows_without_shares_and_shares_without_the_option(tiny: Path, tmp_path: Path):
    data = write_rows(tmp_path / "run", "prm", [state_row(1)])
    with pytest.raises(InputError, match=r"prm\.jsonl: row 'q1#good1\.0' is one for option 'labels' = share"):
        prm(data=data, model=str(tiny), out=tmp_path / "out", **SMALL)
    wrong = state_row(1)
    wrong["steps"][1]["score"] = 1.5
    with pytest.raises(InputError, match=r"row 'q1#good1\.0': a score of 1\.5 is no share"):
        prm(
            data=write_rows(tmp_path / "bad", "prm", [wrong]), model=str(tiny), out=tmp_path / "o", labels="share",
            **SMALL,
        )  # fmt: skip
