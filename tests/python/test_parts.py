"""What a build holds in any case, and what it says of the parts that it was built without."""

from __future__ import annotations

from collections.abc import Callable

import espalier as esp
import pytest
from espalier import _core

USES: dict[str, Callable[[], object]] = {
    "http": lambda: esp.OpenAi("http://127.0.0.1:9/v1", model="m"),
    "json": lambda: _core.check_job("expand", {"out": "out", "questions": "-", "corpus": "-"}),
}


@pytest.mark.parametrize("part", USES)
def test_a_part_is_there_or_names_its_package(part: str):
    package = esp.doctor.build_info()["parts"][part]
    if package is None:
        USES[part]()
    else:
        with pytest.raises(esp.errors.MissingPart, match=package):
            USES[part]()


def test_searching_needs_no_library():
    world = esp.World(passages=100, questions=2, seed=1)
    trees = esp.run(
        esp.DecExRag(k=2, n=2, T_max=2),
        world.questions,
        model=esp.Simulated(world.questions),
        retriever=esp.Bm25(world.passages),
    )
    assert [len(tree.nodes) > 1 for tree in trees] == [True, True]
    assert "T_max" in {name for name, *_ in _core.method_options("decex")}
