"""`train dpo`: pairs of single steps."""

import json
import math
from pathlib import Path

import pytest
import torch
import transformers
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.reader import read_product
from espalier.export.records import Pair
from espalier.export.tokenizer import Tokenizer
from espalier.train.data import read_data
from espalier.train.examples import Dropped, examples_of
from espalier.train.options import DpoOptions
from espalier.train.stages.dpo import StepDpoTrainer, example_of
from training import dpo_row, train_dpo, write_rows

TOKENIZER = Tokenizer.of(byte_tokenizer(), "bytes")


def options(**more: object) -> DpoOptions:
    return DpoOptions(data="d", model="m", out="o", **more)


def test_only_the_steps_are_compared(run: Path):
    decode = byte_tokenizer().decode
    for pair in read_product(run, "dpo"):
        example = example_of(pair, TOKENIZER, options(), 4096)
        before = f"<|im_start|>user\n{pair.prompt}<|im_end|>\n<|im_start|>assistant\n{pair.begun}"
        shared = decode(example.ids).removeprefix(before)
        assert decode(example.ids).startswith(before) and not shared
        assert decode(example.chosen) == pair.chosen and decode(example.rejected) == pair.rejected


def test_pairs_are_chosen_by_kind_and_margin(tmp_path: Path):
    rows = [dpo_row("Q", "a", "a"), dpo_row("Q", "a", "b", 1, type="decision")]
    equal, decision = read_product(write_rows(tmp_path, "dpo", rows), "dpo")
    with pytest.raises(Dropped, match="chosen equals rejected"):
        example_of(equal, TOKENIZER, options(), 4096)
    assert example_of(decision, TOKENIZER, options(kinds="decision"), 4096).learned == 2
    with pytest.raises(Dropped, match="not execution"):
        example_of(decision, TOKENIZER, options(kinds="execution"), 4096)
    with pytest.raises(Dropped, match="its decision is not retrieval"):
        example_of(decision, TOKENIZER, options(decision="retrieval"), 4096)
    length = example_of(decision, TOKENIZER, options(), 4096).length
    with pytest.raises(Dropped, match=f"equal within the first {length - 1} tokens"):
        example_of(decision, TOKENIZER, options(), length - 1)
    with pytest.raises(Dropped, match=r"below 0\.6"):
        example_of(decision, TOKENIZER, options(min_margin=0.6), 4096)


def test_a_pair_with_its_reverse_is_left_out_and_equal_questions_stay_together(tmp_path: Path):
    sides = [("Q", "a", "b"), ("Q", "b", "a"), ("Q", "a", "c"), ("P", "b", "a")]
    folder = write_rows(tmp_path, "dpo", [dpo_row(*three, number) for number, three in enumerate(sides)])
    asked = enumerate(["Who?", "Why?", "How?", "who"])
    write_rows(tmp_path, "answers", [{"id": f"q{number}", "question": text} for number, text in asked])
    data = read_data([folder], "dpo", Pair)
    assert [row.question for row in data.rows] == ["q0", "q1", "q2", "q0"]
    made = examples_of(data.rows, lambda p: example_of(p, TOKENIZER, options(), 99), longest=99, share=0, seed=1)
    assert [one.id for one in made.train] == ["q2#1>2", "q3#1>2"]
    assert made.dropped == {"another pair says the reverse": 2}


def logp(network: transformers.LlamaForCausalLM, before: list[int], step: list[int]) -> float:
    ids = torch.tensor([before + step])
    with torch.no_grad():
        logs = torch.log_softmax(network(input_ids=ids).logits[0].float(), -1)
    return sum(logs[len(before) + i - 1, token].item() for i, token in enumerate(step))


def test_the_loss_of_a_pair_is_that_of_the_formula(tmp_path: Path, tiny: Path):
    """The first step's margin is 0, so the loss is ln 2. The second one's is -ln sigmoid(beta * (change of the chosen
    step's log-probability - that of the rejected one)), worked out with the weights after one step."""
    data = write_rows(tmp_path / "data", "dpo", [dpo_row("Q", "yes", "no")])
    train_dpo(data, tiny, tmp_path / "two", max_steps=2, warmup=0.0, decay=0.0, beta=0.5)
    train_dpo(data, tiny, tmp_path / "one", max_steps=1, warmup=0.0, decay=0.0, beta=0.5)
    lines = [json.loads(line) for line in (tmp_path / "two" / "metrics.jsonl").read_text().splitlines()]
    assert lines[0]["loss"] == pytest.approx(math.log(2), abs=1e-5)
    [pair] = read_product(data, "dpo")
    example = example_of(pair, TOKENIZER, options(), 4096)
    changes = []
    for step in (example.chosen, example.rejected):
        new, old = (
            logp(transformers.LlamaForCausalLM.from_pretrained(folder), example.ids, step)
            for folder in (tmp_path / "one", tiny)
        )
        changes.append(new - old)
    expected = -math.log(1 / (1 + math.exp(-0.5 * (changes[0] - changes[1]))))
    assert lines[1]["loss"] == pytest.approx(expected, abs=1e-4) and expected < 0.69


def test_what_the_model_said_at_the_beginning_is_asked_once(run: Path, tiny: Path, tmp_path: Path, monkeypatch):
    asked = []
    original = StepDpoTrainer.compute_ref_log_probs
    monkeypatch.setattr(
        StepDpoTrainer, "compute_ref_log_probs", lambda self, *args: asked.append(1) or original(self, *args)
    )

    def stop(self, *args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(StepDpoTrainer, "training_step", stop)
        with pytest.raises(KeyboardInterrupt):
            train_dpo(run, tiny, tmp_path / "out")
    first = len(asked)
    train_dpo(run, tiny, tmp_path / "out")
    assert first > 0 and len(asked) == first


def test_variants_of_trl_are_taken(run: Path, tiny: Path, tmp_path: Path):
    for name, more in {"anchored": {"sft_weight": 0.5}, "lora": {"lora": 2}}.items():
        trained = train_dpo(run, tiny, tmp_path / name, max_steps=2, eval_share=0.4, **more)
        assert json.loads((tmp_path / name / "config.json").read_text())["use_cache"] is True
        assert trained.steps == 2 and math.isfinite(trained.loss) and math.isfinite(trained.eval_loss)


def test_a_share_that_holds_no_question_is_none(tiny: Path, tmp_path: Path):
    data = write_rows(tmp_path / "run", "dpo", [dpo_row("Q?\n", "good", "bad")])
    assert train_dpo(data, tiny, tmp_path / "out", max_steps=1, eval_share=1e-9).eval_loss is None
