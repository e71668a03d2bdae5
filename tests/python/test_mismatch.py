"""Calls whose arguments do not fit are answered in one line: what is wanted, and the nearest name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from espalier import _core
from espalier.bridge.mismatch import sentence
from espalier.search import F1, Mcts, Puct, Rollout, Uct


def model(prompts: list[esp.Prompt]) -> list[esp.Completion]:
    return [esp.Completion("x") for _ in prompts]


QUESTION = esp.Question("Who?")
PASSAGE = esp.Passage("d", "T", "text")
COT = esp.Method("cot")
UNFIT = "must be a function or a part, not"


def run(questions: Any = (QUESTION,), *, search: Any = COT, model: Any = model, **more: Any) -> Any:
    return esp.run(search, questions, model=model, **more)


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    # A str in place of something else, and other mistakes of a run, which are told what to write.
    (lambda: run(["x"]), "questions[0] must be a Question, not 'x': write espalier.Question(text) for each"),
    (lambda: run([QUESTION, "x"]), "questions[1] must be a Question, not 'x'"),
    (lambda: run(QUESTION), "questions must be a list of Question, not one: write [question]"),
    (lambda: run("q.jsonl"), "questions must be a list of Question: write espalier.read_questions('q.jsonl')"),
    (lambda: run(search="cot"), "search must be a Search, not 'cot': write espalier.Method('cot')"),
    (lambda: run(search=esp.ProRag), "search is the class ProRag: add the parentheses, ProRag()"),
    (lambda: run(search=None), "search must be a Search, not None"),
    (lambda: run(COT), "the search comes first, then the questions: run(search, questions, model=...)"),
    (lambda: run(model="gpt-4o"), f"model {UNFIT} 'gpt-4o': write espalier.OpenAi(url, name)"),
    (lambda: run(model="simulate"), f"model {UNFIT} 'simulate': write espalier.OpenAi(url, name)"),
    (lambda: run(retriever=[PASSAGE]), f"retriever {UNFIT} a list: write espalier.Bm25(passages)"),
    (lambda: run(model=esp.OpenAi), "model is the class OpenAi: make one, OpenAi(...)"),
    (lambda: esp.run(COT, [QUESTION], modle=model), "run(): unknown option 'modle', did you mean 'model'?"),
    (lambda: esp.DecExRag(K=3), "DecExRag: unknown option 'K', did you mean 'k'?"),
    (lambda: esp.Bm25(["text"]), "Bm25(): passages[0] must be a Passage, not 'text'"),
    (lambda: esp.Bm25("text"), "Bm25(): passages must be a list of Passage, not 'text'"),
    (lambda: esp.Bm25(PASSAGE), "Bm25(): passages must be a list of Passage, not Passage"),
    (lambda: esp.Dense(["x"], model), "Dense(): passages[0] must be a Passage, not 'x'"),
    (lambda: esp.Bm25([PASSAGE])("who"), "requests must be a list of Query, not 'who'"),
    (lambda: esp.best_answer("tree"), "best_answer(): tree must be a Tree, not 'tree'"),
    (lambda: esp.dpo_pairs(["tree"]), "dpo_pairs(): trees[0] must be a Tree, not 'tree'"),
    (lambda: esp.Question("Who?", gold="x"), "Question(): gold must be a list of str, not 'x'"),
    # Options that are not there, and the nearest.
    (lambda: esp.Bm25([PASSAGE], k_1=1.2), "Bm25() has no option 'k_1', did you mean 'k1'?"),
    (lambda: esp.World(passags=3), "World() has no option 'passags', did you mean 'passages'?"),
    (lambda: Mcts(Rollout(F1()), simulatons=3), "Mcts() has no option 'simulatons', did you mean 'simulations'?"),
    (lambda: esp.Completion("x", finnish="stop"), "Completion() has no option 'finnish', did you mean 'finish'?"),
    (lambda: Uct(temperature=1), "Uct() has no option 'temperature', it has w, first_play, unvisited"),
    # Values of another type.
    (lambda: esp.Bm25([PASSAGE], k1="1.2"), "Bm25(): k1 must be a number, not '1.2'"),
    (lambda: esp.Bm25([PASSAGE], analyzer=3), "Bm25(): analyzer must be a str, not 3"),
    (lambda: esp.World(passages=2.5), "World(): passages must be a whole number, not 2.5"),
    (lambda: esp.World(passages=-5), "World(): passages is out of range: -5"),
    (lambda: esp.run(COT, [QUESTION], model=model, seed="x"), "seed must be a whole number, not 'x'"),
    (lambda: esp.Passage(1, "t", "x"), "Passage(): id must be a str, not 1"),
    (lambda: Mcts(F1()), "Mcts(): evaluate must be a Rollout, not F1"),
    (lambda: esp.Index(3), "Index(): folder must be a path or a str or a bytes, not 3"),
    (lambda: esp.Question("q" * 100, gold=[3, "y" * 100]), "Question(): gold[0] must be a str, not 3"),
    (lambda: esp.Bm25("y" * 100), f"Bm25(): passages must be a list of Passage, not '{'y' * 56}..."),
    (lambda: esp.Method("cot", models=[model]), "Method(): models must be a dict, not list"),
    # What UTF-8 cannot hold.
    (lambda: esp.Question("Who?", gold=["x", "\ud800"]), "Question(): gold[1] holds half of a surrogate pair"),
    (lambda: esp.Prompt("x\udfff"), "Prompt(): text holds half of a surrogate pair"),
    (lambda: esp.Method("cot", set={"\ud800": 1}), "Method(): set[0][0] holds half of a surrogate pair"),
    # Too few, too many.
    (lambda: esp.Passage("id"), "Passage() needs 'title', a str"),
    (lambda: esp.Bm25(), "Bm25() needs 'passages', a list of Passage"),
    (lambda: Puct(1.0), "Puct() takes 0 arguments without a name, not 1; the others go by their names"),
    (lambda: esp.Query("a", 1, 2), "Query() takes 2 arguments without a name, not 3"),
    (lambda: esp.Bm25([PASSAGE], passages=[PASSAGE]), "Bm25() is given 'passages' twice"),
]


@pytest.mark.parametrize(("mistake", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_is_told_in_one_line(mistake: Callable[[], Any], said: str):
    with pytest.raises(TypeError) as told:
        mistake()
    assert str(told.value) == said


def test_errors_of_ones_own_functions_pass_as_they_are():
    def failing(states: Any) -> Any:
        raise TypeError("arguments. The following is mine")

    def wrong(prompts: Any) -> Any:
        return [esp.Completion(3) for _ in prompts]

    with pytest.raises(TypeError, match="following is mine"):
        esp.run(COT, [QUESTION], model=failing)
    with pytest.raises(TypeError, match="must be a str, not 3"):
        esp.run(COT, [QUESTION], model=wrong)


OF_ONE = [lambda state: 1.0, lambda state: len(state), lambda state: state.answer, lambda state: state + 1]
OF_ONE += [lambda state, gold: 1.0, lambda state: float(state), lambda state: "Bach" in state]


@pytest.mark.parametrize("reward", OF_ONE)
def test_a_reward_of_one_state_is_told_that_it_gets_a_list(reward, world: esp.World, bm25: esp.Bm25):
    search, asked = esp.DecExRag(k=1, n=1), esp.Simulated(world.questions)
    with pytest.raises((TypeError, esp.errors.BackendError), match=r"write reward=lambda states: \[f\(state\) for"):
        esp.run(search, world.questions[:1], model=asked, retriever=bm25, reward=reward)


def test_every_function_has_a_signature_that_is_understood():
    """What pybind11 writes of each function is read to the end: no call is left without a reason."""
    for name, member in [(name, getattr(_core, name)) for name in dir(_core)]:
        functions = [member] if not isinstance(member, type) else [m for m in vars(member).values() if callable(m)]
        for function in functions:
            for line in (getattr(function, "__doc__", None) or "").splitlines():
                if "(" not in line or " -> " not in line or not line[0].isidentifier():
                    continue
                said = f"{name}(): incompatible function arguments. The following:\n    1. {line[line.index('(') :]}"
                assert "cannot be called" not in sentence(said, (), {"no such option": 1}), line


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"simulatons": 3}, "unknown setting 'simulatons'"),
        ({"modle": "x"}, "unknown setting 'modle', did you mean 'model'?"),
        ({"reward": len}, "a run with a folder takes set={'reward': NAME}, a reward of your own is run's"),
        ({"limit": "x"}, "setting 'limit' cannot be 'x', it must be a whole number from 0"),
        ({"corpus": 3}, "setting 'corpus' cannot be 3, it must be a str"),
        ({"set": {"reward": "\ud800"}}, "settings: set['reward'] holds half of a surrogate pair"),
        ({"set": ["k=1"]}, "setting 'set' cannot be ['k=1'], it must be a dict {option: value}"),
        (
            {"models": {"judge": ("x",)}},
            "setting 'models' cannot be {'judge': ('x',)}, it must be a dict {purpose: (model, name)} of str",
        ),
        ({"method": "decx"}, "unknown method 'decx', did you mean 'decex'?"),
        ({"method": "DecEx-RAG"}, "unknown method 'DecEx-RAG', did you mean 'decex'?"),
        ({"set": {"K": 3}}, "unknown option 'K' of decex, did you mean 'k'?"),
        ({"set": {"rewarrd": "em"}}, "unknown option 'rewarrd' of decex, did you mean 'reward'?"),
        (
            {"models": {"own_anser": ("http://x/v1", "m")}},
            "option 'model-for': decex has no purpose 'own_anser', did you mean 'own_answer'?",
        ),
    ],
)
def test_settings_of_runs_say_what_they_must_be(settings: dict[str, Any], said: str, tmp_path: Path):
    given = {"questions": "q.jsonl", "corpus": "c.jsonl", "out": tmp_path / "run", **settings}
    with pytest.raises(ValueError) as told:
        esp.expand(**given)
    assert str(told.value) == said
