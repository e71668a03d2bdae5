"""Pruning policies at every engine and method: ready-made ones, and those written in Python."""

import pickle

import espalier as esp
import pytest
from conftest import needs_journal, told
from espalier.errors import PolicyError
from espalier.problem import layered, mcts
from espalier.search import F1, AllOf, Beam, Before, Budgeted, Dedup, Keep, Mcts, Rollout, Threshold, TopK
from test_problem import Bandit

METHODS = (esp.DecExRag, esp.AirRag, esp.DecoupleRag, esp.ProRag, esp.ReasonRag)
READY = [TopK(1), Threshold(0.3, "best"), Budgeted(9, 2), Dedup(str), AllOf("top_k:2", esp.search.BestOfEachKind())]


ARMS = Bandit((0.1, 0.4, 0.3, 0.2))


def pruned(tree):
    return [node.action for node in tree.nodes if node.status == "pruned"]


def grow(search, world, simulated, bm25, **more):
    return esp.run(search, world.questions[:4], model=simulated, retriever=bm25, **more)


def engines(prune):
    yield from (engine(Rollout(F1(), n=2), prune=prune) for engine in (Mcts, Beam))
    yield from (method(prune=prune) for method in METHODS)


@pytest.mark.parametrize(
    ("policy", "cut"),
    [
        ("top_k:2", [0, 3]),
        (TopK(3), [0]),
        ("threshold:0.25", [0, 3]),
        (Threshold(0.15, "best"), [0, 3]),
        (Dedup(lambda arm: arm % 2), [0, 3]),
        (AllOf(Threshold(0.15), "top_k:2"), [0, 3]),
        (lambda siblings: [one.id for one in siblings if one.action == 2], [2]),
        (lambda siblings: [(one.id, "skipped") for one in siblings if one.value < 0.15], [0]),
        (lambda siblings: [], []),
    ],
)
@pytest.mark.parametrize("search", [mcts, layered])
def test_policies_cut_what_they_say(search, policy, cut):
    keeps_all = () if search is mcts else (Keep(lambda siblings: []),)
    more = {"simulations": 20, "values": "all"} if search is mcts else {}
    [tree] = search(ARMS, [None], ARMS.value, prune=AllOf(policy, *keeps_all), width=4, **more)
    assert pruned(tree) == cut


@pytest.mark.parametrize("policy", READY, ids=lambda policy: policy.name)
def test_every_engine_and_method_takes_every_policy_in_any_order_of_answers(policy, world, simulated, bm25):
    for search in engines(policy):
        trees = [grow(search, world, simulated, bm25, in_flight=n) for n in (1, 7)]
        assert [tree.to_json() for tree in trees[0]] == [tree.to_json() for tree in trees[1]]
        assert trees[0][0].options["prune"] == policy.name


def test_a_policy_ahead_of_values_saves_calls(world, simulated, bm25):
    def first_of_each_kind(siblings):
        kinds = [one.kind for one in siblings]
        return [one.id for i, one in enumerate(siblings) if one.kind in kinds[:i]]

    calls = [
        sum(tree.to_row()["completions"] for tree in grow(esp.DecExRag(prune=prune), world, simulated, bm25))
        for prune in (None, "", Before(first_of_each_kind))
    ]
    assert calls[0] == calls[1] > calls[2]


def test_an_object_is_asked_at_the_moments_that_it_has():
    asked = []

    class Moments:
        def before(self, siblings):
            asked.append("before")
            return [one.id for one in siblings if one.action == 3]

        def __call__(self, siblings):
            asked.append([(one.action, one.value, one.visits, one.prior, one.kind, one.depth) for one in siblings])
            return []

        def keep(self, siblings):
            asked.append("keep")
            return []

    [tree] = layered(ARMS, [None], ARMS.value, prune=Moments(), width=4)
    assert asked == ["before", *asked[1:-1], "keep"]
    assert asked[1] == [(0, 0.1, 1, 0.25, 0, 1), (1, 0.4, 1, 0.25, 0, 1), (2, 0.3, 1, 0.25, 0, 1)]
    assert pruned(tree) == [3]
    lacking = "Mcts has no moment `before` for the pruning policy .*Moments"
    told(lacking, lambda: mcts(ARMS, [None], ARMS.value, prune=Moments()), PolicyError)
    told("Beam has no moment `keep` .* keep:top_k:1", lambda: Beam(Rollout(F1()), prune=Keep("top_k:1")), PolicyError)
    told("Mcts has no moment `before`", lambda: esp.AirRag(prune="before:top_k:1"), PolicyError)


kept = []


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda siblings: [77], "cuts node 77, which is no child of node 0"),
        (lambda siblings: [0], "cuts node 0, which is no child of node 0"),
        (lambda siblings: [-1], "cuts node -1"),
        (lambda siblings: [2**40], f"cuts node {2**40}"),
        (lambda siblings: None, "raised TypeError"),
        (lambda siblings: ["1"], "raised TypeError"),
        (lambda siblings: [(1, "ugly")], "gives the reason 'ugly', not outvoted, below_threshold, not_best, skipped"),
        (lambda siblings: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda siblings: setattr(siblings[0], "value", 1), "raised AttributeError"),
        (lambda siblings: siblings[0].reward, "raised AttributeError: a sibling has no 'reward', it has id, value"),
        (lambda siblings: (kept and kept[0].value) or kept.extend(siblings) or [], "raised PolicyError: a sibling can"),
    ],
)
@pytest.mark.parametrize(("engine", "search"), [("Mcts", mcts), ("Layered", layered)])
def test_a_bad_policy_is_named_with_its_engine(policy, message, engine, search):
    kept.clear()
    with pytest.raises(PolicyError, match=rf"{engine}: the pruning policy .*<lambda> {message}") as error:
        search(ARMS, [None], ARMS.value, prune=policy, width=4)
    assert ("raised" in message) == isinstance(error.value.__cause__, Exception)


def test_twice_the_same_and_what_is_cut_already_are_no_matter():
    [tree] = mcts(ARMS, [None], ARMS.value, prune=lambda siblings: [1, 1], simulations=9, width=4, values="all")
    assert pruned(tree) == [0]
    assert tree.root.visits == 9 + 3


@pytest.mark.parametrize(
    ("prune", "message"),
    [
        ("top:2", "option 'prune' is top:2, allowed: top_k:K, threshold:V"),
        ("top_k:-1", "option 'prune' is top_k:-1"),
        ("top_k:0", "option 'top_k' is 0, allowed: 1 or more"),
        ("threshold:nan", "option 'threshold' is nan, allowed: a finite number"),
        ("threshold:0.3:worst", "option 'prune' is threshold:0.3:worst"),
        ("before:", "option 'prune' is before:"),
    ],
)
def test_a_bad_text_is_named(prune, message):
    told(message, lambda: esp.DecExRag(prune=prune))
    told(message, lambda: Mcts(Rollout(F1()), prune=prune))


def test_a_method_without_a_search_has_nothing_to_prune():
    told("unknown option 'prune'", lambda: esp.Method("direct", prune=TopK(1)))
    told("prune must be a policy, a text such as .* or a function", lambda: esp.DecExRag(prune=3), TypeError)


def best_only(siblings):
    return [one.id for one in siblings if one.value < max(other.value for other in siblings)]


def test_a_policy_that_fails_leaves_the_finished_trees(world, simulated, bm25):
    whole = grow(esp.DecExRag(), world, simulated, bm25)
    fourth = whole[3].root.children[0].text  # no other tree has it
    search = esp.DecExRag(prune=lambda some: [] if fourth not in [one.action for one in some] else 1 / 0)
    with pytest.raises(PolicyError, match="raised ZeroDivisionError") as error:
        grow(search, world, simulated, bm25, open_questions=1)
    assert [tree and len(tree) for tree in error.value.trees] == [*map(len, whole[:3]), None]


def test_the_beam_of_a_guided_answer_is_pruned(world, simulated, bm25):
    method = esp.ProRag(answer=True, guide="beam", prune=lambda siblings: [(one.id, "skipped") for one in siblings[1:]])
    [tree, *_] = grow(method, world, simulated, bm25)
    assert {node.reason for node in tree.root.children[1:]} == {"skipped"}


@needs_journal
def test_a_run_records_its_policy_and_refuses_another(data, tmp_path):
    run = {**data, "limit": 2, "method": "decex", "model": "simulated"}
    esp.expand(**run, out=tmp_path / "text", prune="top_k:2")
    esp.expand(**run, out=tmp_path / "own", prune=best_only)
    assert '"prune":"top_k:2"' in (tmp_path / "text/run.json").read_text().replace(" ", "")
    assert '"prune":"best_only"' in (tmp_path / "own/run.json").read_text().replace(" ", "")
    with pytest.raises(ValueError, match=r"another options.prune \(.*top_k:2.*, now .*top_k:1"):
        esp.expand(**run, out=tmp_path / "text", prune="top_k:1")
    assert esp.expand(**run, out=tmp_path / "own", prune=best_only).recognised
    with pytest.raises(PolicyError, match=r"best_only raised BackendError: .* give it again"):
        esp.rescore(tmp_path / "own", {}, out=tmp_path / "again")


def test_ready_policies_are_pickled():
    for policy in (TopK(2), AllOf(TopK(2), "threshold:0.3:parent"), Before(TopK(1))):
        again = pickle.loads(pickle.dumps(policy))
        assert (type(again), again.name) == (type(policy), policy.name)
    told("with a function cannot be .* pickled: best_only", lambda: pickle.dumps(AllOf(best_only)), TypeError)
