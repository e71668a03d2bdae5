"""Every registered method in memory, with functions of one's own."""

from __future__ import annotations

import espalier as esp
import pytest
from espalier import _core

SMALL = {"simulations": 5, "rollouts": 2, "n": 1}


def small(name: str) -> dict[str, object]:
    known = {row[0] for row in _core.method_options(name)}
    return {option: value for option, value in SMALL.items() if option in known}


@pytest.mark.parametrize("name", _core.method_names())
def test_every_method_grows_and_answers_with_functions_as_backends(name, world, simulated, bm25):
    questions = world.questions[:3]
    for answer in (False, True):
        search = esp.Method(name, answer=answer, set=small(name))
        trees = esp.run(search, questions, model=lambda p: simulated(p), retriever=lambda q: bm25(q))
        assert len(trees) == 3
        assert all(tree.method == name for tree in trees)
        assert all(tree.oracle is tree.to_dict()["oracle"] is not answer for tree in trees)
        if not answer:
            rows = search.rows(trees)
            assert all(isinstance(row, dict) for file in rows.values() for row in file)


def test_options_presets_and_purposes_are_checked_by_name():
    with pytest.raises(ValueError, match="did you mean 'prorag'"):
        esp.Method("proragg")
    with pytest.raises(ValueError, match="did you mean 'simulations'"):
        esp.Method("prorag", set={"simulation": 3})
    with pytest.raises(ValueError, match="'simulations' is 0"):
        esp.Method("prorag", set={"simulations": 0})
    with pytest.raises(ValueError, match="preset"):
        esp.Method("prorag", preset="x")
    with pytest.raises(ValueError, match="no purpose 'nothing'"):
        esp.Method("prorag", models={"nothing": lambda prompts: ["x"] * len(prompts)})


def test_an_own_reward_and_a_model_of_its_own_for_the_judge(world, simulated, bm25):
    judged = []

    def judge(prompts):
        judged.extend(prompts)
        return ["Fine. <score> 50 </score>"] * len(prompts)

    search = esp.Method("reasonrag", set={"simulations": 4}, models={"judge": judge})
    trees = esp.run(
        search, world.questions[:2], model=simulated, retriever=bm25, reward=lambda states: [0.25] * len(states)
    )
    assert judged and {prompt.purpose for prompt in judged} == {"judge"}
    ends = [value for tree in trees for node in tree.nodes for value in [node.value] if node.status == "terminal"]
    assert all(value <= 0.25 for value in ends)


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
