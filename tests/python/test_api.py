"""The parts of the Python API on a small world."""

import json
from pathlib import Path

import espalier as esp
import pytest
from conftest import needs_journal, told
from espalier.search import F1, Agreement, Beam, Environment, ExactMatch, Mcts, Puct, Rollout, Uct

SEARCHES = [
    esp.DecExRag(k=2, n=2, T_max=2),
    Mcts(Rollout(F1(), n=2), select=Puct(c=1.0), simulations=8, width=3),
    Mcts(Rollout(ExactMatch(), n=2), select=Uct(w=1.0), simulations=8, width=2, window=4),
    Beam(Rollout(Agreement(), n=2), beam=2, width=2, max_depth=3),
]
OPTIONS = [  # of tree search
    {"select": Uct(first_play="parent")},
    {"select": Puct(c=1.0, first_play="constant", unvisited=0.2), "prior": "counts"},
    {"window": 4, "collision": "evaluate", "solve": True},
    {"expand": "one", "widen_k": 1.0, "widen_alpha": 0.6},
    {"graft": True},
    {"values": "each"},
    {"values": "leaf", "select": Puct(visits="children")},
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.method)
def test_each_search_grows_a_tree_a_question_in_order(search, world, simulated, bm25):
    trees = esp.run(search, world.questions, model=simulated, retriever=bm25)
    assert [tree.question.id for tree in trees] == [question.id for question in world.questions]
    for tree in trees:
        assert tree.method == search.method
        assert tree.options == json.loads(search.options)
        assert len(tree) == len(tree.nodes) > 1
        best = esp.best_answer(tree)
        assert tree.to_row()["answer"] == best and (tree.best_node is None) == (best is None)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options))
def test_each_option_of_tree_search_is_taken_and_noted(options, world, simulated, bm25):
    search = Mcts(Rollout(F1(), n=2), simulations=10, width=3, **options)
    noted = json.loads(search.options)
    assert all(noted[name] == value for name, value in options.items() if name != "select")
    tree = esp.run(search, world.questions[:1], model=simulated, retriever=bm25)[0]
    assert tree.root.visits == 10 or "solve" in options
    assert tree.to_json() == esp.run(search, world.questions[:1], model=simulated, retriever=bm25)[0].to_json()


def test_a_tree_prints_one_line_a_node(world, simulated, bm25):
    tree = esp.run(SEARCHES[0], world.questions[:1], model=simulated, retriever=bm25)[0]
    lines = str(tree).splitlines()
    assert sorted(int(line.split()[0]) for line in lines) == [node.id for node in tree.nodes]
    for line in lines[1:]:
        node = tree.nodes[int(line.split()[0])]
        assert line.lstrip().startswith(f"{node.id} {node.kind}, visits {node.visits}, ")
        assert f", {node.status}" in line and line.endswith(node.text or node.status)
        above, depth = node, 0
        while above := above.parent:
            depth += 1
        assert len(line) - len(line.lstrip()) == 2 * depth


def test_nodes_know_their_parents_children_and_worth(world, simulated, bm25):
    tree = esp.run(SEARCHES[0], world.questions[:1], model=simulated, retriever=bm25)[0]
    assert tree.root.parent is None and tree.root.kind is None
    for node in tree.nodes[1:]:
        assert node in node.parent.children
        assert node.kind in {"answer", "sub_question", "own_answer", "query"}
        assert node.status in {"open", "expanded", "terminal", "pruned"}
        assert (node.reason is None) == (node.status != "pruned")
        assert 0 <= node.value <= 1 and 0 < node.prior <= 1.001
    assert tree.root.visits == sum(child.visits for child in tree.root.children)


def test_training_rows_have_the_shape_that_trainers_read(world, simulated, bm25):
    trees = esp.run(esp.DecExRag(always_expand_both=True), world.questions, model=simulated, retriever=bm25)
    sft, dpo = esp.sft_rows(trees, chain="least"), esp.dpo_pairs(trees, margin=0.1)
    assert sft and dpo
    for row in sft:
        (begin, end), *_ = row["loss_spans"]
        assert (row["prompt"] + row["completion"])[begin:end] == row["completion"]
    assert all(row["chosen"] != row["rejected"] for row in dpo)
    assert len(esp.dpo_pairs(trees, margin=0.6)) < len(dpo)


def test_rewards_take_the_place_of_the_search_s_own(world, simulated, bm25):
    nothing = esp.run(
        SEARCHES[1], world.questions[:2], model=simulated, retriever=bm25, reward=lambda states: [0.0] * len(states)
    )
    assert all(node.value == 0 for tree in nothing for node in tree.nodes)


def test_a_question_needs_no_gold_where_the_reward_needs_none(simulated, bm25, world):
    bare = [esp.Question(question.text) for question in world.questions[:2]]
    trees = esp.run(SEARCHES[3], bare, model=simulated, retriever=bm25)
    assert trees[0].question.id == bare[0].text and not trees[0].oracle
    told("has no gold answer", lambda: esp.run(SEARCHES[0], bare, model=simulated, retriever=bm25))


def test_ask_and_tell_gives_the_tree_that_run_gives(world, simulated, bm25):
    expected = esp.run(SEARCHES[0], world.questions[:3], model=simulated, retriever=bm25, seed=4)
    session = SEARCHES[0].start(world.questions[:3], retriever=bm25, seed=4)
    assert not session.done and session.trees == [None, None, None]
    while not session.done:
        ticket, prompt = session.pending()[-1]  # in any order, one at a time
        session.resume({ticket: simulated([prompt])[0]})
    assert [tree.to_json() for tree in session.trees] == [tree.to_json() for tree in expected]
    assert session.pending() == [] and session.errors == {}


def test_ask_and_tell_keeps_a_failure_beside_the_other_trees(world, simulated, bm25):
    session = SEARCHES[0].start(world.questions[:2], retriever=bm25)
    for ticket, prompt in session.pending():
        if prompt.slots["question"] == world.questions[0].text:
            session.resume({ticket: esp.errors.BackendError("the model went away", permanent=True)})
    while not session.done:
        session.resume({ticket: simulated([prompt])[0] for ticket, prompt in session.pending()})
    assert session.trees[0] is None and session.trees[1] is not None
    assert str(session.errors[0]) == "the model went away"


def test_ask_and_tell_refuses_what_nobody_asked(world, bm25):
    session = SEARCHES[0].start(world.questions[:1], retriever=bm25)
    told("ticket 999", lambda: session.resume({999: "text"}))
    with pytest.raises(TypeError, match="a reply is a str, a Completion or a BackendError, not int"):
        session.resume({session.pending()[0][0]: 3})
    told(r"^replies\[1\] holds half of a surrogate pair$", lambda: session.resume({session.pending()[0][0]: "\ud800"}))
    with pytest.raises(esp.errors.BackendError, match=r"half of a surrogate pair for request 1$"):
        esp.run(SEARCHES[0], world.questions[:1], model=lambda asked: ["x", "\ud800", *asked[2:]], retriever=bm25)


@needs_journal
def test_a_journal_is_asked_before_the_model(world, simulated, bm25, tmp_path: Path):
    calls = []

    def model(prompts):
        calls.append(len(prompts))
        return simulated(prompts)

    journal = tmp_path / "journal.sqlite"
    first = esp.run(SEARCHES[0], world.questions, model=model, retriever=bm25, journal=journal, fingerprint="m1")
    paid = sum(calls)
    assert paid > 100
    again = esp.run(SEARCHES[0], world.questions, model=model, retriever=bm25, journal=journal, fingerprint="m1")
    assert sum(calls) == paid and [t.to_json() for t in again] == [t.to_json() for t in first]
    esp.run(SEARCHES[0], world.questions, model=model, retriever=bm25, journal=journal, fingerprint="m2")
    assert sum(calls) == 2 * paid
    told("fingerprint=", lambda: esp.run(SEARCHES[0], world.questions, model=model, retriever=bm25, journal=journal))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: esp.DecExRag(k=0), "'k' is 0, allowed: 1 or more"),
        (lambda: esp.DecExRag(threshold=7), "'threshold' is 7"),
        (lambda: esp.DecExRag(search="pruend"), "'search' is pruend, allowed: pruned, no_pruning, full_node"),
        (lambda: Environment(documents=0), "'documents' is 0"),
        (lambda: Mcts(Rollout(F1()), expand="some"), "'expand' is some"),
        (lambda: Uct(first_play="late"), "'first_play' is late, allowed: infinite, parent, constant"),
        (lambda: Puct(visits="all"), "'visits' is all, allowed: parent, children"),
        (lambda: Mcts(Rollout(F1()), prior="x"), "'prior' is x"),
        (lambda: Mcts(Rollout(F1()), collision="x"), "'collision' is x, allowed: wait, evaluate"),
        (lambda: Mcts(Rollout(F1()), values="x"), "'values' is x, allowed: first, each, leaf, alike, all"),
        (lambda: F1("comon"), "comon"),
        (lambda: esp.Bm25([], k1=-1), "'k1' is -1"),
        (lambda: esp.Bm25([], analyzer="simpel"), "simple"),
        (lambda: esp.Simulated([], recall=2), "'recall' is 2"),
        (lambda: esp.World(passages=3), "'passages' is 3"),
        (lambda: esp.Completion("x", finish="sudden"), "'finish' is sudden"),
        (lambda: esp.parts.EncodeRequest("x", "both"), "'role' is both"),
        (lambda: (esp.sft_rows([], chain="best") and None) or esp.dpo_pairs([], margin=-1), "'margin' is -1"),
    ],
)
def test_a_bad_option_is_a_value_error_that_names_it(make, message):
    with pytest.raises(ValueError) as caught:
        make()
    assert message in str(caught.value)


def test_questions_must_differ_in_their_ids(world, simulated, bm25):
    with pytest.raises(ValueError, match="questions 0 and 1 share the id"):
        esp.run(SEARCHES[0], [world.questions[0]] * 2, model=simulated, retriever=bm25)


def test_a_search_that_looks_up_says_that_it_needs_a_retriever(world, simulated):
    told("give it a retriever", lambda: esp.run(SEARCHES[0], world.questions, model=simulated))


def test_faiss_finds_the_nearest_rows(tmp_path: Path):
    numpy, faiss = pytest.importorskip("numpy"), pytest.importorskip("faiss")
    if esp.doctor.build_info()["parts"]["faiss"] is not None:
        pytest.skip("built without faiss")
    passages = [esp.Passage(f"p{i}", f"title {i}", "text") for i in range(4)]
    vectors, asked = numpy.eye(4, dtype="float32"), numpy.array([[0.1, 0.2, 0.9, 0.3]])
    flat = faiss.IndexFlatIP(4)
    flat.add(vectors)
    faiss.write_index(flat, str(tmp_path / "index"))
    [hits] = esp.Faiss(passages, lambda requests: asked, file=str(tmp_path / "index"))([esp.Query("?", 2)])
    assert [hit.id for hit in hits] == ["p2", "p3"] and hits[0].score == pytest.approx(0.9)
    with pytest.raises(ValueError, match="option 'nprobe' is 4, allowed: 0"):
        esp.Faiss(passages, lambda requests: asked, file=str(tmp_path / "index"), nprobe=4)


def test_faiss_names_the_package_where_there_is_none(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("espalier.adapters.faiss.build_info", lambda: {"parts": {"faiss": "libfaiss-dev"}})
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(esp.errors.MissingPart, match="faiss-cpu"):
        esp.adapters.faiss_retriever([], tmp_path / "index", lambda requests: [])


def test_write_jsonl_leaves_nothing_half_behind(tmp_path: Path):
    target = tmp_path / "rows.jsonl"
    with pytest.raises(TypeError):
        esp.write_jsonl(target, [{"a": 1}, {"b": object()}])
    assert list(tmp_path.iterdir()) == []
    told(r"nowhere/rows\.jsonl'", lambda: esp.write_jsonl(tmp_path / "nowhere/rows.jsonl", []), FileNotFoundError)
    esp.write_jsonl(target, [{"ä": 1}])
    assert target.read_text(encoding="utf-8") == '{"ä":1}\n'
