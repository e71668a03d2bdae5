"""What happens to trees, told while they grow: replayed, it gives the finished trees."""

from __future__ import annotations

from collections import Counter

import espalier as esp
import pytest
from conftest import needs_journal
from espalier import _core
from espalier.search import F1, Beam, Mcts, NodeEvent, PrunedEvent, Rollout, SimulationEvent

MCTS = Mcts(Rollout(F1(), n=2), simulations=12, width=2, window=3)
SEARCHES = {
    "mcts": MCTS,
    "grafted": Mcts(Rollout(F1(), n=2), simulations=12, width=2, graft=True),
    "beam": Beam(Rollout(F1(), n=2), beam=2, width=2, max_depth=3),
    "decex": esp.DecExRag(k=2, n=2, T_max=2),
    "airrag": esp.Method("airrag", set={"rollouts": 8}),
    "reasonrag": esp.Method("reasonrag", set={"simulations": 8}),
    "prorag": esp.Method("prorag", set={"window": 4}),
    "best of n": esp.Method("prorag", answer=True, set={"guide": "best_of_n"}),
    "valued apart": esp.Method("decouple", answer=True),
    "blended": esp.Method("airrag-blender"),
    "self-ask": esp.Method("self-ask", answer=True),
    "twice": esp.Method("decex", answer=True, set={"match_budget": True, "max_calls": 30}),
}
METHODS = {
    f"{name} {form}": esp.Method(name, answer=form == "answers")
    for name in _core.method_names()
    for form in ("grows", "answers")
}


def replay(events):
    """Of each tree: the nodes as (parent, kind, text), visits, why nodes were cut, and how it ended."""
    nodes, visits, cut, ends = {}, Counter(), {}, {}
    for event in events:
        assert event.question not in ends
        if isinstance(event, NodeEvent):
            assert event.node == len(nodes.setdefault(event.question, []))
            nodes[event.question].append((event.parent, event.kind, event.text, event.prior))
        elif isinstance(event, SimulationEvent):
            node = event.node
            while node is not None:
                visits[event.question, node] += 1
                node = nodes[event.question][node][0]
        elif isinstance(event, PrunedEvent):
            assert cut.setdefault((event.question, event.node), event.reason) == event.reason
        else:
            ends[event.question] = event
    return nodes, visits, cut, ends


@pytest.mark.parametrize("name", [*SEARCHES, *METHODS])
def test_replayed_they_give_the_trees(world, simulated, bm25, name):
    search, questions = {**SEARCHES, **METHODS}[name], world.questions[:4]
    nodes, visits, cut, ends = replay(search.events(questions, model=simulated, retriever=bm25))
    trees = esp.run(search, questions, model=simulated, retriever=bm25)
    assert [ends[i].tree.to_json() for i in range(4)] == [tree.to_json() for tree in trees]
    for i, tree in enumerate(trees):
        for node, (parent, kind, text, prior) in zip(tree.nodes, nodes[i], strict=True):
            assert (node.parent.id if node.parent else None, node.kind, node.text) == (parent, kind, text)
            assert name != "beam" or prior == node.prior
            assert visits[i, node.id] == node.visits
            assert cut.get((i, node.id)) == (node.reason if node.status == "pruned" else None)


@pytest.mark.parametrize("name", SEARCHES)
def test_they_are_told_while_the_tree_grows(world, simulated, bm25, name):
    calls = []

    def model(prompts):
        calls.append(len(prompts))
        return simulated(prompts)

    trees = esp.run(SEARCHES[name], world.questions, model=simulated, retriever=bm25)
    largest = max(range(len(trees)), key=lambda i: len(trees[i]))
    told = [
        (event.event, len(calls))
        for event in SEARCHES[name].events([world.questions[largest]], model=model, retriever=bm25)
    ]
    assert [what for what, _ in told].count("done") == 1 and told[-1][0] == "done"
    moments = [calls_so_far for what, calls_so_far in told if what == "node"]
    assert moments == sorted(moments) and len({*moments}) >= 2


@pytest.mark.parametrize("name", ["mcts", "grafted", "beam", "decex"])
def test_a_value_is_the_mean_of_its_rollouts(world, simulated, bm25, name):
    events = list(SEARCHES[name].events(world.questions[:4], model=simulated, retriever=bm25))
    trees = {event.question: event.tree for event in events if event.event == "done"}
    entered = [event for event in events if event.event == "simulation"]
    assert len(entered) > 20
    for event in entered:
        assert trees[event.question].nodes[event.node].reward == pytest.approx(event.value)


def test_the_order_within_a_tree_does_not_depend_on_execution(world, simulated, bm25):
    def of_tree(i, events):
        return [(type(event), *list(vars(event).values())[1:4]) for event in events if event.question == i][:-1]

    few = list(MCTS.events(world.questions[:3], model=simulated, retriever=bm25, in_flight=1, open_questions=1))
    many = list(MCTS.events(world.questions[:3], model=lambda p: simulated(p), retriever=bm25))
    assert [event.question for event in few] == sorted(event.question for event in few)
    assert all(of_tree(i, few) == of_tree(i, many) for i in range(3))


@needs_journal
def test_leaving_early_stops_the_search_which_can_be_gone_on_with(world, simulated, bm25, tmp_path):
    asked = []

    def model(prompts):
        asked.extend(prompts)
        return simulated(prompts)

    kept = {"journal": tmp_path / "journal.sqlite", "fingerprint": "simulated", "retriever": bm25, "in_flight": 4}
    events = MCTS.events(world.questions[:3], model=model, **kept)
    assert next(events) == NodeEvent(0, 0, None, None, "", 1.0)
    events.close()
    first = len(asked)
    trees = esp.run(MCTS, world.questions[:3], model=model, **kept)
    assert 0 < first < len(asked) == len({prompt.key for prompt in asked})
    expected = esp.run(MCTS, world.questions[:3], model=simulated, retriever=bm25)
    assert [tree.to_json() for tree in trees] == [tree.to_json() for tree in expected]


def test_a_failed_backend_ends_its_tree_and_other_errors_end_all(world, simulated, bm25):
    lost = world.questions[1].text

    def model(prompts):
        gone = esp.errors.BackendError("too long", permanent=True)
        return [gone if lost in p.text else reply for p, reply in zip(prompts, simulated(prompts), strict=True)]

    *_, ends = replay(MCTS.events(world.questions[:3], model=model, retriever=bm25))
    assert ends[1].tree is None and str(ends[1].error) == "too long"
    assert ends[0].error is None and ends[2].tree is not None

    def broken(prompts):
        raise KeyError("no such model")

    with pytest.raises(KeyError):
        list(MCTS.events(world.questions[:3], model=broken, retriever=bm25))
    with pytest.raises(TypeError, match="not int"):
        MCTS.events(world.questions[:3], model=3)
