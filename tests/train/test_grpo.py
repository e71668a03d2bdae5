"""On-policy learning: the gradient is the one worked out by hand, and the samples are those of the weights."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import espalier
import pytest
import torch
import transformers
import trl
from espalier.errors import InputError
from espalier.export.records import Origin, Trace, TraceNode
from espalier.train import grpo
from espalier.train.rollouts import Rollouts, Written, by_step, parts, spread
from espalier.train.stages.grpo import TokenAdvantages, in_order, logged
from espalier.train.trajectories import Step, steps, traces
from test_resume import Killed, kill_at
from training import same, weights_of

MICRO = f"gguf:{Path(__file__).resolve().parents[2] / 'examples/micro/model.gguf'}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    for method, purposes in (("decex", ("rollout", "forced_answer")), ("prorag", ("rollout", "forced_answer", "step"))):
        (folder / method).mkdir()
        for purpose in purposes:
            (folder / method / f"{purpose}.txt").write_text("Q: {question}\n{history}>")
    espalier.write_world(folder, passages=60, questions=4, seed=5, max_hops=1)
    return folder


def train(world: Path, model: Path, out: Path, **more: Any) -> Any:
    small = {
        "questions": str(world / "questions.jsonl"), "corpus": str(world / "corpus.jsonl"), "model": str(model),
        "prompts": str(world / more.get("method", "decex")), "out": out, "warmup": 0, "steps": 3, "group": 4,
        "group_questions": 2, "lr": 1e-3, "device": "cpu", "threads": 1, "save_every": 1,
        "set": {"max_tokens": 12, "documents": 1}, "reward": "f1",
    }  # fmt: skip
    return grpo(**{**small, **more})


SAMPLED = Rollouts([[5, 6], [7]], [[8, 9, 10], [11]], [1, 1], [2.0, -1.0])


def fake(monkeypatch: pytest.MonkeyPatch, rollouts: Rollouts) -> None:
    def sampler(model: Any, names: list[str], step: int) -> Rollouts:
        return replace(rollouts, rewards={name: [1.0, 0.0] for name in names})

    monkeypatch.setattr("espalier.train.stages.grpo.Sampler", lambda setup: sampler)


def spoken(network: Any, prompt: list[int], said: list[int]) -> torch.Tensor:
    """The log-probability of each token."""
    logits = network(input_ids=torch.tensor([prompt + said])).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits, -1)[range(len(said)), said]


@pytest.mark.parametrize("divisor", ["trajectories", "tokens"])
@pytest.mark.parametrize("ratio", [1.0, 2.0])
@pytest.mark.parametrize("learned", [[1, 1], [1, 0]])
def test_the_gradient_is_the_masked_sum_by_hand(world, tiny, network, tmp_path, monkeypatch, learned, ratio, divisor):
    """Advantages of the shape (B, T), which differ within a row, weigh each token's own log-probability (Eq. 9).

    Of a ratio of 2 min(2 A, 1.2 A) is left: nothing to learn where A is positive, and twice A where it is negative.
    """
    fake(monkeypatch, Rollouts(SAMPLED.prompt_ids, SAMPLED.completion_ids, learned, [0, 0]))
    by_token = torch.tensor([[2.0, -0.5, 3.0], [-1.0, 9.0, 9.0]])  # 9: padding, which is outside the loss
    original = TokenAdvantages._generate_and_score_completions
    seen: dict[str, Any] = {}

    def generate(self: Any, inputs: Any) -> Any:
        made = original(self, inputs)
        assert made["advantages"].shape == made["completion_ids"].shape == (2, 3)
        place = (made["completion_ids"][:, 0] != 8).long()  # rows are shuffled
        made["advantages"] = by_token[place]
        if ratio != 1:
            now = torch.zeros(2, 3)
            for row, (prompt, said) in enumerate(zip(SAMPLED.prompt_ids, SAMPLED.completion_ids, strict=True)):
                now[row, : len(said)] = spoken(network, prompt, said).detach()
            made["old_per_token_logps"] = now[place] - math.log(ratio)
        return made

    def step(self: Any, *args: Any, **more: Any) -> Any:
        loss = super(TokenAdvantages, self).training_step(*args, **more)
        seen.update({name: one.grad.clone() for name, one in self.model.named_parameters()})
        return loss

    monkeypatch.setattr(TokenAdvantages, "_generate_and_score_completions", generate)
    monkeypatch.setattr(TokenAdvantages, "training_step", step)
    train(world, tiny, tmp_path / "out", steps=1, group=2, group_questions=1, kl=0.0, divisor=divisor)

    loss = torch.zeros(())
    tokens = 0
    sampled = zip(SAMPLED.prompt_ids, SAMPLED.completion_ids, strict=True)
    for (prompt, said), row, counts in zip(sampled, by_token.tolist(), learned, strict=True):
        for one, advantage in zip(spoken(network, prompt, said), row, strict=False):
            left = ratio if ratio == 1 or advantage < 0 else 0
            loss = loss - counts * left * advantage * one
            tokens += counts
    network.zero_grad()
    (loss / (tokens if divisor == "tokens" else 2)).backward()  # G = 2
    worked = {name: one.grad for name, one in network.named_parameters()}
    assert max(one.abs().max() for one in worked.values()) > 1e-3
    for name, one in worked.items():
        assert torch.allclose(seen[name], one, atol=1e-6), name


def test_each_step_has_other_questions_in_an_order_of_the_seed():
    names = ["a", "b", "c", "d", "e"]
    order = in_order(names, 2, 5, seed=1)
    assert len(order) == 10 and all(len(set(order[i : i + 2])) == 2 for i in range(0, 10, 2))
    assert len(set(order[:4])) == len(set(order[4:8])) == 4  # a round leaves out what fills no step
    assert order == in_order(names, 2, 5, seed=1) and order != in_order(names, 2, 5, seed=2)
    assert order[:6] == in_order(names, 2, 3, seed=1)


def test_a_malformed_first_step_keeps_its_place_in_a_group(world: Path, tmp_path: Path):
    """The advantages of the steps are those of the engine (ProRAG, Eq. 5-8), and one group is worked out by hand."""
    espalier.expand(
        questions=world / "questions.jsonl", corpus=world / "corpus.jsonl", out=tmp_path / "run", method="prorag",
        model="simulated",
        set={"grow": "group", "group": 4, "annotate": "prm", "resample": 0, "sim.malformed": 0.3},
    )  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "run" / "rollouts.jsonl").read_text().splitlines()]
    begun_badly = 0
    for trace in traces(tmp_path / "run"):
        own = [row for row in rows if row["group"] == trace.origin.id]
        weights = by_step(trace, "process", 0.3)
        assert len(trace.outcomes) == len(own) == 4
        said = [weights[step.place] for step in steps(trace)]
        assert sorted(said) == pytest.approx(sorted(step["advantage"] for row in own for step in row["steps"]))
        outcomes, first = sorted(trace.outcomes.values()), [row["steps"][0]["type"] for row in own]
        if first.count("malformed") == 1 and outcomes == [0, 2, 2, 2] and len(said) == 4:
            begun_badly += 1
            # Outcomes: mean 1.5, deviation 1. Step rewards 1, 2, 2, 2: mean 1.75, deviation 0.5.
            assert sorted(said) == pytest.approx([-1.5 - 0.3 * 1.5, *[0.5 + 0.3 * 0.5] * 3], abs=1e-3)
    assert begun_badly


def test_process_rewards_are_normalised_over_steps_or_over_their_tokens():
    """Two answers of equal worth after a step each. Steps with the rewards 1 and 0 have 3 tokens and 1."""
    nodes = tuple(TraceNode(None, "", "s", True, i + 1, reward) for i, reward in enumerate((1.0, 0.0)))
    trace = Trace(Origin("q", "q", (), "prorag"), "?", (), "", nodes, {0: 1.0, 1: 1.0}, judged=True)
    # The mean is 1/2, and the sample deviation the root of 1/2.
    assert by_step(trace, "process", 2.0) == pytest.approx({0: math.sqrt(2), 1: -math.sqrt(2)}, rel=1e-3)
    # Over the tokens 1, 1, 1, 0 the mean is 3/4, and the population's deviation the root of 3/16.
    weights = by_step(trace, "process", 2.0, {0: 3, 1: 1})
    assert weights == pytest.approx({0: 2 / math.sqrt(3), 1: -2 * math.sqrt(3)}, rel=1e-3)
    assert by_step(trace, "process", 2.0, {0: 0, 1: 0}) == {0: 0.0, 1: 0.0}


def test_a_group_of_one_tells_nothing_in_tree_grpo_s_text_and_keeps_its_value_in_its_code():
    """Two trees: outcomes 1 and 0 after one step, and 0 alone. Over all the mean is 1/3, the deviation 0.5773503."""
    nodes = tuple(TraceNode(parent, "", "s", True, i + 1, None) for i, parent in enumerate((None, 0, 0, None)))
    trace = Trace(Origin("q", "q", (), "decex"), "?", (), "", nodes, {1: 1.0, 2: 0.0, 3: 0.0}, judged=False)
    alone = replace(trace, outcomes={3: 0.7})
    # All: 1.1547, -0.57735, -0.57735. Within the first tree: mean 0.5, deviation 0.7071068: +-0.7071068.
    assert by_step(trace, "tree", 0) == pytest.approx({0: 0.57735, 1: 1.86181, 2: -1.28446, 3: -0.57735}, abs=1e-3)
    # The same again within it: mean 0.288675, deviation 1.2247449: +-0.7071068. They add up to 0 in their first step.
    assert by_step(trace, "tree-code", 0) == pytest.approx({0: 0, 1: 0.70711, 2: -0.70711, 3: -0.57735}, abs=1e-3)
    assert by_step(alone, "tree", 0) == {3: 0.0} and by_step(alone, "tree-code", 0) == {3: 0.7}


def test_advantages_spread_over_the_tokens_of_their_steps():
    mask = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert spread([2.0, -1.0, 5.0], mask).tolist() == [[2, 2, 0], [-1, 0, 0], [0, 0, 0]]


def test_parts_hold_every_row_once_without_common_padding():
    long, short = [1, 2, 3], [0, 0, 4]
    batch = {
        "prompt_ids": torch.tensor([long, short, short]), "prompt_mask": torch.tensor([long, short, short]) > 0,
        "completion_ids": torch.tensor([[5, 0], [6, 0], [7, 0]]), "completion_mask": torch.tensor([[1, 0]] * 3),
        "num_items_in_batch": torch.tensor(3),
    }  # fmt: skip
    first, second = parts(batch, rows=2)
    assert first["prompt_ids"].tolist() == [[4], [4]] and first["completion_ids"].tolist() == [[6], [7]]
    assert second["prompt_ids"].tolist() == [long] and second["completion_ids"].tolist() == [[5]]
    assert int(first["num_items_in_batch"]) == 3


def test_the_reference_by_parts_says_what_it_says_of_all_rows_at_once(world, tiny, tmp_path, monkeypatch):
    """Twenty rows of unequal lengths are three parts. The numbers are compared where a token was said."""
    asked = [list(range(5, 6 + i)) for i in range(20)]
    said = [list(range(8, 9 + 7 * i % 5)) for i in range(20)]
    fake(monkeypatch, Rollouts(asked, said, [1] * 20, [1.0] * 20))
    ours, theirs = "TokenAdvantages", "GRPOTrainer"
    seen: dict[str, torch.Tensor] = {}

    def generate(self: Any, inputs: Any) -> Any:
        made = trl.GRPOTrainer._generate_and_score_completions(self, inputs)
        both = ("prompt", "completion")
        ids, mask = (torch.cat([made[f"{one}_{name}"] for one in both], 1) for name in ("ids", "mask"))
        kept = made["completion_ids"].shape[1]
        for name, kind in ((ours, TokenAdvantages), (theirs, trl.GRPOTrainer)):
            with torch.no_grad():
                found = kind._get_per_token_logps_and_entropies(self, self.model, ids, mask, kept)
            seen[name] = found[0] * made["completion_mask"]
        raise Killed

    monkeypatch.setattr(TokenAdvantages, "_generate_and_score_completions", generate)
    with pytest.raises(Killed):
        train(world, tiny, tmp_path / "out", steps=1, group=2, group_questions=1, kl=0.1)
    assert seen[ours].shape == (20, 5) and (seen[ours] != 0).sum() == sum(map(len, said))
    assert torch.allclose(seen[ours], seen[theirs], atol=1e-5)


def test_outcomes_are_logged_one_by_one_or_as_their_mean():
    assert logged([1.0, 0.0], 2) == [1.0, 0.0]
    assert logged([1.0, 0.0, 0.5], 2) == [0.5, 0.5]


@pytest.mark.parametrize("advantage", ["outcome", "tree", "tree-code"])
@pytest.mark.parametrize("method", ["decex", "prorag"])
def test_the_engine_samples_from_the_weights_as_they_are(world, tiny, tmp_path, monkeypatch, method, advantage):
    """Every method and advantage runs. Each step's samples come from the weights of that step."""
    from espalier.local.transformers import Transformers

    sums: list[float] = []
    original = Transformers.__call__

    def call(self: Any, prompts: Any) -> Any:
        sums.append(sum(float(one.detach().double().sum()) for one in self._model.parameters()))
        assert not self._model.training
        return original(self, prompts)

    monkeypatch.setattr(Transformers, "__call__", call)
    extra = {"k": 2, "n": 1, "T_max": 1} if method == "decex" else {}
    chosen = {"max_tokens": 12, "documents": 1, **({} if advantage == "outcome" else extra)}
    # Untrained samples have no form, so all rewards are 0: only the divergence and noise move the weights.
    monkeypatch.setattr("espalier.train.rollouts.ADVANTAGES", dict.fromkeys(("outcome", "tree", "tree-code"), constant))
    train(world, tiny, tmp_path / "out", method=method, advantage=advantage, steps=2, set=chosen)
    if advantage == "outcome":
        assert len(set(sums)) == 2  # one for each step
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2]
    assert {"reward", "kl", "clip_ratio/region_mean", "completions/mean_length"} <= lines[0].keys()


def test_a_step_is_learned_from_the_tokens_that_the_model_wrote(world, tiny, tmp_path, monkeypatch):
    """An untrained model writes texts in tokens that no tokenizer would choose for them."""
    wrote: list[list[int]] = []
    again: list[list[int]] = []
    keep = Written.keep

    def kept(self: Any, prompt: Any, text: str, ids: list[int]) -> None:
        wrote.append(list(ids))
        again.append(tokenizer.encode(text, add_special_tokens=False))
        keep(self, prompt, text, ids)

    def loss(self: Any, model: Any, inputs: Any) -> Any:
        learned = (inputs["completion_mask"] * inputs["tool_mask"]).bool()  # the loss multiplies them
        said = [row[mask].tolist() for row, mask in zip(inputs["completion_ids"], learned, strict=True)]
        assert len(said) == 8 and all(row in wrote for row in said)
        assert any(row not in again for row in said)
        for i, mask in enumerate(learned):  # what was sampled is what the trainer finds
            asked = inputs["prompt_ids"][i][inputs["prompt_mask"][i].bool()].tolist()
            assert torch.allclose(inputs["sampling_per_token_logps"][i][mask], spoken(model, asked, said[i]), atol=1e-4)
        raise Killed

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    monkeypatch.setattr(Written, "keep", kept)
    monkeypatch.setattr(TokenAdvantages, "_compute_loss", loss)
    with pytest.raises(Killed):
        train(world, tiny, tmp_path / "out", steps=1)


def test_a_step_is_found_by_what_it_says():
    """Its reply ended at the stop string, and marks in its words were replaced for the transcript."""
    written = Written()
    written.keep(espalier.Prompt("Q"), "<think> a <b> </think><search> q", [3, 4])
    assert written.ids(Step(0, "Q", "<think> a &lt;b> </think>\n<search> q </search>")) == [3, 4]
    for ids in ([3, 5], [3, 3], [3, 4]):  # in any order
        written.keep(espalier.Prompt("Q"), "<answer> New  York", ids)
    assert written.ids(Step(0, "Q", "<answer> New York </answer>")) == [3, 3]
    assert written.ids(Step(0, "Q", "<answer> NewYork </answer>")) is None
    assert written.ids(Step(0, "Q", "<think> a </think>\n<search> q </search>")) is None
    assert written.ids(Step(0, "other", "<think> a &lt;b> </think>\n<search> q </search>")) is None


def test_steps_that_are_too_long_are_counted(world: Path, tiny: Path, tmp_path: Path):
    train(world, tiny, tmp_path / "out", steps=1, max_length=20)
    [line] = (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(line)["too_long"] == 8


def constant(trace: Any, beta: float, tokens: Any) -> Any:
    from espalier.export.traces.advantages import Advantages

    return Advantages({leaf: 1.0 + i for i, leaf in enumerate(trace.outcomes)}, {})


def test_a_killed_training_ends_as_an_unbroken_one(world, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("espalier.train.rollouts.ADVANTAGES", {"outcome": constant})
    train(world, tiny, tmp_path / "unbroken")
    with monkeypatch.context() as killed:
        kill_at(killed, 2)
        with pytest.raises(Killed):
            train(world, tiny, tmp_path / "killed")
    train(world, tiny, tmp_path / "killed")
    assert same(tmp_path / "unbroken", tmp_path / "killed")
    begun = weights_of(tiny)
    assert any(not torch.equal(one, begun[name]) for name, one in weights_of(tmp_path / "killed").items())
    assert train(world, tiny, tmp_path / "killed").recognised


def test_bad_options_are_named(world: Path, tiny: Path, tmp_path: Path):
    for more, said in (
        ({"advantage": "process"}, "option 'method': decex is not allowed"),
        ({"advantage": "process", "method": "prorag"}, "option 'prm'"),
        ({"set": {"beta": 0.5}}, "option 'set': beta=0.5 is not allowed here, must be --beta"),
        ({"set": ["normalise=token"]}, "option 'set': normalise=token is not allowed here, must be --normalise"),
        ({"normalise": "row"}, "option 'normalise': row is not allowed, must be step, token"),
        ({"group": 1}, "option 'group': 1 is not allowed"),
        ({"method": "airrag"}, "option 'method': airrag"),
        ({"questions": ""}, "option 'questions'"),
        ({"model": "micro:1M"}, "option 'model': micro:1M is not allowed, must be a folder of transformers"),
        ({"model": MICRO}, f"folder of transformers; `espalier train sft --model {MICRO} --data RUN --out FOLDER`"),
    ):
        with pytest.raises(ValueError, match=said):
            train(world, more.pop("model", tiny), tmp_path / "out", **more)
    with pytest.raises(InputError, match=r"has 4 questions, option 'group_questions' is 5"):
        train(world, tiny, tmp_path / "out", group_questions=5)
