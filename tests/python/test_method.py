"""Every registered method in memory, with functions of one's own."""

import inspect
import json
import pickle
from typing import Any

import espalier as esp
import pytest
from conftest import told
from espalier import _core

SMALL = {"simulations": 5, "rollouts": 2, "n": 1}


def small(name: str) -> dict[str, object]:
    known = {row[0] for row in _core.method_options(name)}
    return {option: value for option, value in SMALL.items() if option in known}


def test_options_presets_and_purposes_are_checked_by_name():
    told("did you mean 'prorag'", lambda: esp.Method("proragg"))
    told("did you mean 'simulations'", lambda: esp.Method("prorag", set={"simulation": 3}))
    told("'simulations' is 0", lambda: esp.Method("prorag", set={"simulations": 0}))
    told("preset", lambda: esp.Method("prorag", preset="x"))
    told("no purpose 'nothing'", lambda: esp.Method("prorag", models={"nothing": len}))


def test_an_own_reward_and_a_model_of_its_own_for_the_judge(world, simulated, bm25):
    judged = []

    def judge(prompts):
        judged.extend(prompts)
        return ["Fine. <score> 50 </score>"] * len(prompts)

    def values_of_ends(**options):
        search = esp.Method("reasonrag", set={"simulations": 4, **options}, models={"judge": judge})
        parts = {"model": simulated, "retriever": bm25, "reward": lambda states: [0.25] * len(states)}
        trees = esp.run(search, world.questions[:2], **parts)
        return [node.value for tree in trees for node in tree.nodes if node.status == "terminal"]

    assert set(values_of_ends()) == {0.5}  # the judge values answers too
    assert judged and {prompt.purpose for prompt in judged} == {"judge"}
    ends = values_of_ends(value="rollouts")
    assert ends and all(0 < value <= 0.25 for value in ends)


def test_values_of_ones_own_steer_decouple(world, simulated, bm25):
    asked = []

    def values(requests):
        asked.extend(request.text for request in requests)
        return [[0.5, -0.5]] * len(requests)

    search = esp.Method("decouple", answer=True, set={"values": "server"}, values=values)
    esp.run(search, world.questions[:1], model=simulated, retriever=bm25)
    assert asked and asked[0].startswith("Question: ")
    with pytest.raises(ValueError, match="'values' is server"):
        esp.run(esp.Method("decouple", set={"values": "server"}), world.questions[:1], model=simulated, retriever=bm25)


TYPED = {"decex": esp.DecExRag, "decouple": esp.DecoupleRag, "airrag": esp.AirRag, "prorag": esp.ProRag}
TYPED["reasonrag"] = esp.ReasonRag


@pytest.mark.parametrize("name", TYPED)
def test_a_typed_class_is_the_method_of_its_name(name, world, simulated, bm25):
    chosen = small(name)
    typed = TYPED[name](**chosen, set={"sampling.forced_answer.max_tokens": 99} if name != "airrag" else None)
    named = esp.Method(name, set=chosen | ({"sampling.forced_answer.max_tokens": 99} if name != "airrag" else {}))
    assert typed.options == named.options
    trees = [esp.run(s, world.questions[:2], model=simulated, retriever=bm25) for s in (typed, named)]
    assert [tree.to_json() for tree in trees[0]] == [tree.to_json() for tree in trees[1]]
    again = pickle.loads(pickle.dumps(typed))
    assert type(again) is TYPED[name] and again.options == typed.options


@pytest.mark.parametrize("name", TYPED)
def test_the_keywords_of_a_typed_class_are_its_options(name):
    parts = {"set", "preset", "answer", "prompts", "models", "encoder", "score"}
    keywords = set(inspect.signature(TYPED[name]).parameters) - parts
    options = {row[0] for row in _core.method_options(name)}
    shared = {row[0] for row in _core.method_options("direct")}
    assert options - shared - {o for o in options if o.startswith("sampling.")} <= keywords <= options
    for row in _core.method_options(name):
        said = f"- {row[0]}: {row[3]}. Allowed: {row[2]}. Default: {json.loads(row[1])}."
        assert row[0] not in keywords or said in " ".join(TYPED[name].__doc__.split())
    told(r"'top_p' is no keyword, write set=\{'top_p': ...\}", lambda: TYPED[name](top_p=0.5), TypeError)
    told("option 'sampling' is gone since", lambda: TYPED[name](sampling={}), TypeError)


def test_a_typed_class_takes_a_preset_and_a_reward_of_ones_own(world, simulated, bm25):
    assert esp.ProRag(preset="code").options == esp.Method("prorag", preset="code").options
    assert esp.ProRag(reward="f1").options == esp.Method("prorag", set={"reward": "f1"}).options
    seen = []

    def half(states):
        seen.extend(states)
        return [0.5] * len(states)

    [tree] = esp.run(esp.ProRag(simulations=4, reward=half), world.questions[:1], model=simulated, retriever=bm25)
    assert seen and all(node.value <= 0.5 for node in tree.nodes)
    told("simulatons", lambda: esp.ProRag(simulatons=3), TypeError)
    told("'simulations' is 0, allowed: 1 or more", lambda: esp.ProRag(simulations=0))


async def graded(state: Any) -> float:
    return 0.5


class Halved:
    def __call__(self, states: list[Any]) -> list[float]:
        return [0.5] * len(states)


@pytest.mark.parametrize(
    ("reward", "name"),
    [
        (Halved(), "Halved"),
        (Halved().__call__, "Halved.__call__"),
        (esp.aio.PerRequest(graded), "graded"),
        (esp.search.F1("hotpot"), "F1('hotpot')"),
    ],
)
def test_trees_and_rows_name_a_reward_of_ones_own(world, bm25, simulated, reward, name):
    method = esp.DecExRag(k=2, n=2)
    trees = esp.run(method, world.questions[:2], model=simulated, retriever=bm25, reward=reward)
    assert {tree.options["reward"] for tree in trees} == {name}
    plain = esp.run(method, world.questions[:2], model=simulated, retriever=bm25)
    assert plain[0].options["reward"] == "f1" and plain[0].options | {"reward": name} == trees[0].options
    rows = esp.dpo_pairs(trees) + esp.sft_rows(trees)
    assert {row["provenance"]["options"]["reward"] for row in rows} <= {name}
