"""Value heads: texts, places, losses, their file, and what a server says."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from espalier.errors import InputError
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.records import Dialogue, Message, Origin
from espalier.export.tokenizer import Tokenizer
from espalier.train import ValueOptions, value
from espalier.train.scorer import Scorer, without_oldest
from espalier.train.stages.value import ValueTrainer, collate_values, example_of, value_losses
from espalier.train.value_heads import FILE, ValueHeads, load_heads
from espalier.train.value_text import places, value_text
from safetensors.torch import load_file, save_file
from training import SMALL, weights_of, write_rows

TURNS = [
    {"role": "system", "content": "Solve."},
    {"role": "user", "content": "Who?"},
    {"role": "assistant", "content": "Hm.\nSearch(x)", "q_value_thought": 0.5, "value_at": 3},
    {"role": "function", "content": "Doc 1\n", "q_value_search": -0.25, "value_at": 6},
    {"role": "assistant", "content": "So.\nFinish(y)", "q_value_thought": 1, "value_at": 3},
]
TEXT = "Question: Who?\nThought: Hm.\nSearch(x)\nObservation:\nDoc 1\n\nThought: So.\nFinish(y)\n"


def row(number: int, **more: Any) -> dict[str, Any]:
    provenance = {"tree": f"q{number}", "nodes": [0, 3, 9], "method": "decouple"}
    base = {"id": f"q{number}#9", "messages": TURNS, "correct": True, "policy_loss": True, "provenance": provenance}
    return {**base, **more}


def dialogue(policy_loss: bool = True) -> Dialogue:
    said = [
        Message("system", "Solve."), Message("user", "Who?"), Message("assistant", "Hm.\nSearch(x)", 0.5, 3),
        Message("tool", "Doc 1\n", -0.25, 6), Message("assistant", "So.\nFinish(y)", 1.0, 3),
    ]  # fmt: skip
    return Dialogue(Origin("q#9", "q", ()), tuple(said), policy_loss=policy_loss)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.of(byte_tokenizer(), "bytes")


def test_values_are_read_behind_the_thought_and_behind_the_documents():
    made = value_text(dialogue())
    assert made.text == TEXT
    assert [(TEXT[:at], v) for at, v in made.plans] == [
        ("Question: Who?\nThought: Hm.", 0.5),
        (TEXT.removesuffix("\nFinish(y)\n"), 1.0),
    ]
    assert [(TEXT[:at].endswith("Doc 1"), v) for at, v in made.searches] == [(True, -0.25)]
    learned = [TEXT[begin:end] for begin, end in made.learned]
    assert learned == ["Thought: Hm.\nSearch(x)\n", "Thought: So.\nFinish(y)\n"]


def test_a_server_reads_the_newest_step_where_training_did():
    made = value_text(dialogue())
    state = TEXT[: TEXT.index("Thought: So.")]  # what a search sends after its first step
    assert places(state) == (made.plans[0][0], made.searches[0][0])
    assert places(TEXT)[0] == made.plans[1][0]
    assert places("Question: Who?\n") == (14, 14)


def test_a_text_that_is_too_long_loses_its_oldest_steps(tokenizer: Tokenizer):
    text = "Q\nold step\nNew.\nFinish(y)"  # 2, 9, 5 and 9 bytes; the plan is read at the full stop
    ids, offsets = tokenizer.encode(text, special=False)
    decode = byte_tokenizer().decode
    kept, (plan, search) = without_oldest(text, ids, offsets, 16)
    assert decode(kept) == "Q\nNew.\nFinish(y)" and decode(kept[plan]) == "." and search == 15
    assert without_oldest(text, ids, offsets, 25) == (ids, (14, 24))
    with pytest.raises(ValueError, match="a question is longer than 2 tokens"):
        without_oldest(text, ids, offsets, 2)


def test_a_token_is_in_the_loss_where_the_policy_wrote_it(tokenizer: Tokenizer):
    example = example_of(dialogue(), tokenizer)
    decode = byte_tokenizer().decode
    said = decode([token for token, w in zip(example.ids, example.weights, strict=True) if w])
    assert said == "Thought: Hm.\nSearch(x)\nThought: So.\nFinish(y)\n"
    assert decode(example.ids[: example.values["plan"][0][0] + 1]).endswith("Hm.")
    assert decode(example.ids[: example.values["search"][0][0] + 1]).endswith("Doc 1")
    assert not any(example_of(dialogue(policy_loss=False), tokenizer).weights)


def test_the_loss_is_words_and_squared_errors(network: Any, tokenizer: Tokenizer):
    network.value_heads = ValueHeads(32)
    with torch.no_grad():
        for head, bias in ((network.value_heads.plan, 0.3), (network.value_heads.search, 0.0)):
            head.weight.zero_()
            head.bias.fill_(bias)
    example = example_of(dialogue(), tokenizer)
    words, errors = value_losses(network, collate_values([example, example], 256))
    # plan: tanh(0.3) against 0.5 and 1; search: tanh(0) = 0 against -0.25; each twice
    wanted = [(math.tanh(0.3) - 0.5) ** 2, (math.tanh(0.3) - 1) ** 2] * 2
    assert errors["plan"].tolist() == pytest.approx(wanted)
    assert errors["search"].tolist() == pytest.approx([0.0625, 0.0625])
    ids = torch.tensor([example.ids])
    nll = torch.nn.functional.cross_entropy(network(input_ids=ids).logits[0, :-1], ids[0, 1:], reduction="none")
    learned = torch.tensor(example.weights[1:]) > 0
    assert words.tolist() == pytest.approx(nll[learned].tolist() * 2, rel=1e-4)


def test_the_loss_is_of_means_over_a_batch_or_of_sums_over_a_path(monkeypatch: pytest.MonkeyPatch):
    """Two paths. Three words lose 1, 2 and 6, two plans err by 0.5 and 0.1 squared, one search by 0.4 squared."""
    words = torch.tensor([1.0, 2.0, 6.0])
    errors = {"plan": torch.tensor([0.25, 0.01]), "search": torch.tensor([0.16])}
    monkeypatch.setattr("espalier.train.stages.value.value_losses", lambda model, batch: (words, errors))
    batch = {"input_ids": torch.zeros(2, 4)}

    def loss(reduction: str) -> float:
        trainer = object.__new__(ValueTrainer)
        trainer.accelerator = SimpleNamespace(unwrap_model=lambda model: model)
        trainer._options = ValueOptions(data=["a"], model="m", out="o", alpha=0.5, reduction=reduction)
        return float(trainer.loss_of(None, batch) / trainer.amount_of(batch))

    assert loss("mean") == pytest.approx(3 + 0.5 * (0.13 + 0.16))
    assert loss("sum") == pytest.approx((9 + 0.5 * (0.26 + 0.16)) / 2)
    words, errors = torch.zeros(0), {name: torch.zeros(0) for name in errors}
    assert loss("mean") == loss("sum") == 0
    with pytest.raises(ValueError, match="option 'reduction': max is not allowed, must be mean, sum"):
        loss("max")


def test_training_writes_heads_in_one_file_that_a_server_reads(tiny: Path, tmp_path: Path):
    data = write_rows(tmp_path / "run", "value", [row(i) for i in range(12)])
    out = tmp_path / "out"
    value(data=data, model=str(tiny), out=out, eval_share=0.3, alpha=1.0, **{**SMALL, "max_steps": 80, "lr": 1e-2})
    tensors = load_file(out / FILE)
    assert {name: tuple(one.shape) for name, one in tensors.items()} == {
        "plan.weight": (1, 32), "plan.bias": (1,), "search.weight": (1, 32), "search.bias": (1,)
    }  # fmt: skip
    assert not any("value_heads" in name for name in load_file(out / "model.safetensors"))
    noted = json.loads((out / "training.json").read_text())["values"]
    # The plan's values are 0.5 and 1 in equal numbers: the best constant errs by 1/4, squared.
    assert noted["plan"]["constant"] == pytest.approx(0.0625) and noted["search"]["constant"] == 0
    assert noted["plan"]["error"] < 0.5 * noted["plan"]["constant"]
    scorer = Scorer(out, "cpu")
    state = TEXT[: TEXT.index("Thought: So.")]
    [(plan, search), (last, _)] = scorer([state, TEXT])
    assert plan == pytest.approx(0.5, abs=0.2) and search == pytest.approx(-0.25, abs=0.2) and last > plan
    [alone] = scorer([state])
    assert alone == pytest.approx((plan, search), abs=1e-5)
    ids = byte_tokenizer()(state.rstrip(), add_special_tokens=False)["input_ids"]
    assert scorer([list(ids)])[0][1] == pytest.approx(search, abs=1e-5)


def test_heads_of_another_width_and_files_that_are_none(tmp_path: Path):
    ValueHeads(16).save(tmp_path)
    with pytest.raises(InputError, match=r"value_heads\.safetensors: cannot be read .*size mismatch for plan\.weight"):
        load_heads(tmp_path, 32)
    save_file({"plan.weight": torch.zeros(1, 32)}, tmp_path / FILE)
    with pytest.raises(InputError, match=r"Missing key.* \"plan\.bias\""):
        load_heads(tmp_path, 32)
    (tmp_path / FILE).write_bytes(b"no")
    with pytest.raises(InputError, match=r"value_heads\.safetensors: cannot be read"):
        load_heads(tmp_path, 32)


def test_a_folder_of_a_policy_is_no_value_model(tiny: Path):
    with pytest.raises(InputError, match=r"neither value_heads\.safetensors nor a reward model is in this folder"):
        Scorer(tiny, "cpu")


def test_adapters_leave_all_but_projections_and_heads_as_they_were(tiny: Path, tmp_path: Path):
    data = write_rows(tmp_path / "run", "value", [row(i) for i in range(12)])
    out = tmp_path / "out"
    more = {**SMALL, "max_steps": 80, "lr": 1e-2}
    value(data=data, model=str(tiny), out=out, eval_share=0.3, alpha=1.0, lora=4, **more)
    before, after = weights_of(tiny), weights_of(out)
    heads = {f"{head}.{part}" for head in ("plan", "search") for part in ("weight", "bias")}
    assert after.keys() - before.keys() == heads
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all("proj" in name for name in changed)
    noted = json.loads((out / "training.json").read_text())["values"]
    assert noted["plan"]["error"] < 0.03, "the constant errs by 0.0625"
    [(plan, search)] = Scorer(out, "cpu")([TEXT[: TEXT.index("Thought: So.")]])
    assert plan == pytest.approx(0.5, abs=0.25) and search == pytest.approx(-0.25, abs=0.25)
