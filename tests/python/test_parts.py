"""What a build holds in any case, and what it says of the parts that it was built without."""

from collections.abc import Callable

import espalier as esp
import pytest
from espalier import _core, search
from espalier.doctor import inputs

USES: dict[str, Callable[[], object]] = {
    "http": lambda: esp.OpenAi("http://127.0.0.1:9/v1", model="m"),
    "json": lambda: _core.check_job("expand", {"out": "out", "questions": "-", "corpus": "-"}),
}


@pytest.mark.parametrize("part", USES)
def test_a_part_is_there_or_names_its_package(part: str):
    left_out = esp.doctor.build_info()["parts"][part]
    if left_out is None:
        USES[part]()
    else:
        with pytest.raises(esp.errors.MissingPart, match=left_out.split()[0]):
            USES[part]()


def test_the_doctor_says_why_a_part_is_not_there(monkeypatch: pytest.MonkeyPatch):
    left_out = "libsqlite3-dev does not compile or link: sqlite3.h:1: error"
    monkeypatch.setattr(inputs._core, "build_info", lambda: {"parts": {"http": None, "journal": left_out}})
    found = [finding for check in (inputs.check_package, inputs.check_journal) for finding in check({})]
    assert [finding.state for finding in found if left_out in finding.found] == ["warning", "problem"]


def test_every_part_says_what_it_is():
    bm25, url = esp.Bm25([esp.Passage(id, "T", "x") for id in "abc"]), "http://me:secret@127.0.0.1:9/v1?key=secret"
    model = repr(esp.OpenAi(url, "m" * 10**6))
    assert model.startswith("OpenAi('http://") and "secret" not in model and model.endswith("characters left out))")
    assert repr(esp.World(passages=50, questions=2)) == "World(2 questions, 50 passages)"
    assert repr(esp.Hybrid([bm25, bm25])) == "Hybrid([Bm25(3 passages), Bm25(3 passages)])"
    assert repr(esp.Query("who", 2)) == "Query(text='who', k=2)"
    assert repr(esp.DecExRag(k=2)).startswith("DecExRag(method='decex', options='{\"")
    assert not [one for one in vars(_core).values() if isinstance(one, type) and one.__repr__ is object.__repr__]


def test_parts_without_properties_say_what_they_were_made_from():
    made = ["Accuracy(profile='musique')", "Agreement()", "Environment(documents=5)", "ExactMatch()", "F1('hotpot')"]
    made += ["Puct(c=2.0, visits='children')", "Rollout(F1(), n=2)", "Uct(w=2.0)"]
    assert [repr(eval(text, vars(search))) for text in made] == made
    compiled = [one for name, one in vars(search).items() if getattr(_core, name, None) is one]
    bare = {one.__name__ for one in compiled if property not in {type(getattr(one, name)) for name in dir(one)}}
    assert bare == {text.partition("(")[0] for text in made}


def test_searching_needs_no_library():
    world = esp.World(passages=100, questions=2, seed=1)
    model, retriever = esp.Simulated(world.questions), esp.Bm25(world.passages)
    trees = esp.run(esp.DecExRag(k=2, n=2, T_max=2), world.questions, model=model, retriever=retriever)
    assert [len(tree.nodes) > 1 for tree in trees] == [True, True]
    assert "T_max" in {name for name, *_ in _core.method_options("decex")}
