"""Trees, data and methods that are pickled and copied."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from espalier._core import method_names

AGAIN = [
    pytest.param(copy.copy, id="copy"),
    pytest.param(copy.deepcopy, id="deepcopy"),
    *(pytest.param(lambda one, p=p: pickle.loads(pickle.dumps(one, p)), id=f"pickle {p}") for p in range(6)),
]


def grown(method: str, world: esp.World, bm25: esp.Bm25, **options: Any) -> list[esp.Tree]:
    model = esp.Simulated(world.questions)
    return esp.run(esp.Method(method, **options), world.questions[:3], model=model, retriever=bm25)


def products(method: str, trees: Sequence[esp.Tree]) -> list[Any]:
    """All that is made of trees."""
    rows = esp.Method(method).rows(trees)
    pairs = rows.get("dpo.jsonl", [row for row in rows.get("prm.jsonl", []) if "chosen" in row])
    assert (esp.sft_rows(trees), esp.dpo_pairs(trees)) == (rows.get("sft.jsonl", []), pairs)
    return [rows, *map(esp.best_answer, trees), *(tree.to_row() for tree in trees)]


@pytest.mark.parametrize("method", method_names())
def test_a_tree_comes_back_equal_with_all_that_is_made_of_it(method: str, world: esp.World, bm25: esp.Bm25):
    trees = grown(method, world, bm25)
    others = pickle.loads(pickle.dumps(trees))
    assert [tree.to_json() for tree in others] == [tree.to_json() for tree in trees]
    assert products(method, others) == products(method, trees)


@pytest.mark.parametrize("again", AGAIN)
def test_a_copy_is_another_tree_with_the_same_content(again: Callable[[Any], Any], world: esp.World, bm25: esp.Bm25):
    tree = grown("decex", world, bm25)[0]
    other = again(tree)
    assert other is not tree and other.to_json() == tree.to_json()
    assert products("decex", [other]) == products("decex", [tree])


def test_a_search_with_prompts_of_ones_own_leaves_trees_that_keep_them(world, bm25, tmp_path):
    (tmp_path / "sub_question.txt").write_text("My own words. {question}\n")
    search = esp.DecExRag(prompts=str(tmp_path))
    trees = esp.run(search, world.questions[:2], model=esp.Simulated(world.questions), retriever=bm25)
    rows = esp.dpo_pairs(trees) + esp.sft_rows(trees)
    assert rows and esp.dpo_pairs(pickle.loads(pickle.dumps(trees))) + esp.sft_rows(copy.deepcopy(trees)) == rows
    for other in (search, esp.DecExRag()):  # rows show what was asked
        assert other.rows(trees) == {"sft.jsonl": esp.sft_rows(trees), "dpo.jsonl": esp.dpo_pairs(trees)}


def test_trees_read_from_a_file_give_the_rows_of_their_own_method(world: esp.World, bm25: esp.Bm25, tmp_path: Path):
    trees = grown("prorag", world, bm25)
    file = tmp_path / "trees.jsonl"
    file.write_text("".join(tree.to_json() + "\n" for tree in trees))
    assert products("prorag", esp.read_trees(file)) == products("prorag", trees)


def test_rows_go_by_the_options_of_the_search_and_stand_in_the_order_of_the_trees(world: esp.World, bm25: esp.Bm25):
    narrow, wide = (grown("reasonrag", world, bm25, set={"margin": margin}) for margin in (0.6, 0.0))
    decex = grown("decex", world, bm25)
    assert len(esp.dpo_pairs(narrow)) < len(esp.dpo_pairs(wide)) == len(esp.dpo_pairs(narrow, margin=0))
    mixed = [wide[0], decex[0], wide[1]]
    assert esp.dpo_pairs(mixed) == [pair for tree in mixed for pair in esp.dpo_pairs([tree])]
    with pytest.raises(ValueError, match="trees of decex: write sft_rows"):
        esp.ProRag().rows(decex)
    with pytest.raises(ValueError, match="unknown option 'chain' of reasonrag"):
        esp.dpo_pairs(wide, chain="best")


def test_trees_cross_to_other_processes(world: esp.World, bm25: esp.Bm25):
    trees = grown("decex", world, bm25)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(esp.best_answer, trees) == [esp.best_answer(tree) for tree in trees]


def test_a_pickle_that_was_changed_is_refused(world: esp.World, bm25: esp.Bm25):
    tree = grown("cot", world, bm25)[0]
    damaged = pickle.dumps(tree).replace(b'"nodes"', b'"nodez"')
    with pytest.raises(esp.errors.InputError, match="a pickled Tree"):
        pickle.loads(damaged)


@pytest.mark.parametrize("again", AGAIN)
def test_data_comes_back_equal(again: Callable[[Any], Any], world: esp.World):
    passage = esp.Passage("d1", "T", "text é", 1.5)
    assert again(passage) == passage and again(passage).score == 1.5 and again(passage).text == "text é"
    query = again(esp.Query("who", 7))
    assert (query.text, query.k) == ("who", 7)
    for question in world.questions:
        other = again(question)
        for field in ("id", "text", "gold", "supporting_titles", "hops", "type"):
            assert getattr(other, field) == getattr(question, field)
        steps = [(s.question, s.answer, s.support_title, s.support_id) for s in question.chain]
        assert [(s.question, s.answer, s.support_title, s.support_id) for s in other.chain] == steps


@pytest.mark.parametrize("again", AGAIN)
def test_a_method_comes_back_with_its_options(again: Callable[[Any], Any], world: esp.World, bm25: esp.Bm25):
    search = esp.Method("prorag", set={"documents": 2, "temperature": 0.5}, models={"judge": simulated_judge})
    runs = [
        esp.run(one, world.questions[:2], model=esp.Simulated(world.questions), retriever=bm25)
        for one in (search, again(search))
    ]
    assert [tree.to_json() for tree in runs[0]] == [tree.to_json() for tree in runs[1]]


def simulated_judge(prompts: Sequence[esp.Prompt]) -> list[esp.Completion]:
    return [esp.Completion("<preference>1 over 2</preference>") for _ in prompts]
