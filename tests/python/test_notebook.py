"""What trees and runs look like: pictures with the same bytes that hostile text cannot leave, progress."""

import io
import json
import sys
import types
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import espalier as esp
import pytest
from conftest import expanded, rows
from espalier.notebook.picture import drawn
from espalier.notebook.tree_plot import chosen, layout

HOSTILE = '</summary></details><script>alert(1)</script><img src=x onerror=alert(1)> $x^2$ & \u202egnp\u202c \x1b[31m"'
needs_matplotlib = pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")


@pytest.fixture(scope="module")
def run(files: Path, tmp_path_factory: pytest.TempPathFactory) -> esp.tables.RunTables:
    return expanded(files, tmp_path_factory.mktemp("run"), method="decex", limit=3)


@pytest.fixture(scope="module")
def hostile(run: esp.tables.RunTables, tmp_path_factory: pytest.TempPathFactory) -> esp.Tree:
    """A real tree with something nasty in every text."""
    record = rows(run.folder / "trees.jsonl")[0]
    record["question"], record["golden_answers"] = HOSTILE, [HOSTILE]
    for node in record["nodes"][1:]:
        node["text"] = node["thought"] = HOSTILE
    for document in record["documents"].values():
        document["title"] = HOSTILE
    file = tmp_path_factory.mktemp("hostile") / "trees.jsonl"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return esp.read_trees(file)[0]


@pytest.fixture
def label_free(run: esp.tables.RunTables, tmp_path: Path) -> esp.Tree:
    """The same tree as if its search had had no gold answers."""
    record = rows(run.folder / "trees.jsonl")[0] | {"golden_answers": [], "oracle": False}
    (tmp_path / "trees.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    return esp.read_trees(tmp_path / "trees.jsonl")[0]


@needs_matplotlib
def test_a_tree_shows_itself_and_that_gold_may_have_steered_it(run: esp.tables.RunTables, label_free: esp.Tree):
    tree = run.trees[0]
    assert tree.oracle and not label_free.oracle and tree._repr_svg_() == tree.plot()._repr_svg_()
    assert "value, oracle" in tree._repr_svg_() and "oracle" not in label_free._repr_svg_()


def test_large_trees_show_what_was_visited_most():
    nodes: list[dict[str, Any]] = [{"id": 0, "parent": None, "visits": 100}]
    nodes += [{"id": i, "parent": 0, "visits": i} for i in range(1, 5)]
    nodes += [{"id": 5, "parent": 1, "visits": 50}]
    assert chosen(nodes, 3) == {0, 4, 3}
    assert chosen(nodes, 3, [5]) == {0, 1, 5}
    assert chosen(nodes, 99) == set(range(6))


@needs_matplotlib
def test_what_is_shown_of_100_000_nodes_and_of_long_texts_is_cut_and_says_so(run, tmp_path: Path, monkeypatch):
    record = rows(run.folder / "trees.jsonl")[0] | {"question": "why? " * 100_000}
    nodes = record["nodes"]
    more = range(len(nodes), 100_000)
    nodes += [{**nodes[-1], "id": i, "parent": i - 1 if i > 50_000 else 0, "text": "x" * 300} for i in more]
    assert chosen(nodes, 9, [99_999]) >= {0, 50_000, 50_006} and len(chosen(nodes, 9, [99_999])) == 9
    esp.write_jsonl(tmp_path / "trees.jsonl", [record])
    tree = esp.read_trees(tmp_path / "trees.jsonl")[0]
    drawing = tree._repr_svg_()
    assert "99,960 of 100,000 nodes are left out" in drawing and len(drawing) < 200_000
    assert repr(tree).endswith("characters left out), 100000 nodes)") and len(repr(tree)) < 300
    assert "(102 characters left out)" in repr(tree.nodes[-1]) and len(repr(esp.Completion("x" * 10**6))) < 300
    monkeypatch.setattr("espalier.notebook.attach.find_spec", lambda name: None)
    assert tree._repr_svg_() is None and "99,980 of 100,000 nodes are left out</pre>" in tree._repr_html_()
    assert tree._repr_html_().startswith("<pre>0 root, visits ") and len(tree._repr_html_()) < 6_000
    assert len(repr(esp.tables.Table("t", [{f"column {i}": 0 for i in range(100_000)}]))) < 600


def test_a_parent_stands_in_the_middle_of_its_children():
    assert layout([[1, 2], [3, 4], [], [], []]) == {0: (0, 1.25), 1: (1, 0.5), 2: (1, 2), 3: (2, 0), 4: (2, 1)}


@needs_matplotlib
def test_pictures_are_files_with_the_same_bytes(run: esp.tables.RunTables, tmp_path: Path):
    for name in ("a", "b"):
        run.trees[0].plot(tmp_path / f"{name}.svg")
        run.trees[0].plot(tmp_path / f"{name}.pdf", most=5)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    drawing = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "path to the answer" in drawing and run.trees[0].root.children[0].text.split()[0] in drawing
    assert "<svg" in run.trees[0].plot(tmp_path / "p.png")._repr_svg_()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"'tree.txt', allowed: a name that ends in .svg"):
        run.trees[0].plot(tmp_path / "tree.txt")
    with pytest.raises(ValueError, match="option 'most' is 0"):
        run.trees[0].plot(most=0)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.pdf", "a.svg", "b.pdf", "b.svg", "p.png"]


@needs_matplotlib
def test_a_wide_picture_fits_a_notebooks_page():
    from matplotlib.figure import Figure

    def shown(width: float) -> list[float]:
        drawing = drawn(lambda: Figure(figsize=(width, 2)))
        drawing.figure.add_axes((0, 0, 1, 1)).plot([1, 2])
        root = ElementTree.fromstring(drawing._repr_svg_())
        return [float(root.get(side, "").removesuffix("pt")) for side in ("width", "height")]

    (wide, low), (narrow, high) = shown(40), shown(4)
    assert wide == 700 and narrow < 340 and low < high / 3


@needs_matplotlib
def test_hostile_text_in_a_picture_is_only_drawn(hostile: esp.Tree):
    drawing = ElementTree.fromstring(hostile.plot()._repr_svg_())
    tags = {element.tag.partition("}")[2] for element in drawing.iter()}
    assert tags & {"script", "img", "image", "a", "foreignObject"} <= {"image"}  # the image: colours of the scale
    assert "</details><script>" in "".join("".join(drawing.itertext()).split())


def test_pictures_name_what_they_need(run: esp.tables.RunTables, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(esp.errors.MissingPart, match=r"pip install matplotlib"):
        run.trees[0].plot()


def test_progress_is_plain_text_elsewhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with esp.progress_view() as view:
        view.show(1, 2, 11.0, "half")
    assert stream.getvalue() == "half\n"
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    with esp.progress_view() as view:
        view.show(1, 2, 11.0, "half")
    assert stream.getvalue().endswith("[##########..........] half\n")


def test_a_node_and_a_state_show_what_they_hold_and_hostile_text_stays_text(hostile: esp.Tree):
    node = hostile.nodes[-1]
    assert repr(node.state).startswith("State(") and f"{len(node.state.segments)} segments" in repr(node.state)
    shown = [part._repr_html_() for part in (node, node.state)]
    assert "<th>visits</th>" in shown[0] and "<th>question</th>" in shown[1]
    for html in shown:
        assert "&lt;script&gt;" in html and not {"\x1b", "\u202e"} & set(html)
        ElementTree.fromstring(html.replace("colspan=2", ""))
