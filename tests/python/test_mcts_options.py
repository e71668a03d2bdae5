"""The options of tree search, from Python."""

from __future__ import annotations

import json

import espalier as esp
import pytest
from espalier.search import F1, Mcts, Puct, Rollout, Uct

OPTIONS = [
    {"select": Uct(first_play="parent", normalise="tree")},
    {"select": Puct(c=1.0, first_play="reduced", unvisited=0.2, normalise="siblings"), "prior": "counts"},
    {"window": 4, "collision": "evaluate", "solve": True},
    {"expand": "one", "widen_k": 1.0, "widen_alpha": 0.6},
    {"graft": True},
    {"values": "each"},
    {"values": "leaf", "select": Puct(visits="children")},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options))
def test_each_option_is_taken_and_noted(options, world, simulated, bm25):
    search = Mcts(Rollout(F1(), n=2), simulations=10, width=3, **options)
    noted = json.loads(search.options)
    for name, value in options.items():
        if name != "select":
            assert noted[name] == value
    tree = esp.run(search, world.questions[:1], model=simulated, retriever=bm25)[0]
    assert tree.root.visits == 10 or "solve" in options
    assert tree.to_json() == esp.run(search, world.questions[:1], model=simulated, retriever=bm25)[0].to_json()


def test_grafted_rollouts_are_nodes(world, simulated, bm25):
    def nodes(**options):
        search = Mcts(Rollout(F1(), n=2), simulations=1, width=3, **options)
        return sum(len(tree) for tree in esp.run(search, world.questions, model=simulated, retriever=bm25))

    assert nodes(graft=True) > nodes()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Uct(first_play="late"),
            "'first_play' is late, allowed: infinite, parent, constant, reduced, prior",
        ),
        (lambda: Puct(visits="all"), "'visits' is all, allowed: parent, children"),
        (lambda: Puct(normalise="all"), "'normalise' is all, allowed: none, tree, siblings"),
        (lambda: Mcts(Rollout(F1()), prior="x"), "'prior' is x"),
        (lambda: Mcts(Rollout(F1()), collision="x"), "'collision' is x, allowed: wait, evaluate"),
        (lambda: Mcts(Rollout(F1()), values="x"), "'values' is x, allowed: first, each, leaf, alike, all"),
        (lambda: Mcts(Rollout(F1()), widen_k=1.0), "'widen_k' is 1"),
    ],
)
def test_options_that_mean_nothing_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
