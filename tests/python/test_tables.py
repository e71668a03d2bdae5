"""What runs leave, as tables, against the files themselves."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import espalier as esp
import pytest
from conftest import expanded, rows

OPTIONAL = ("pandas", "pyarrow", "datasets")
NEEDS = {name: pytest.mark.skipif(find_spec(name) is None, reason=f"needs {name}") for name in OPTIONAL}


@pytest.fixture(scope="module")
def folder(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = {"method": "prorag", "limit": 4, "set": {"simulations": 20}}
    return expanded(files, tmp_path_factory.mktemp("run"), **settings).folder


@pytest.fixture
def run(folder: Path) -> esp.tables.RunTables:
    return esp.read_run(folder)


def test_answers_hold_scores_and_costs(run: esp.tables.RunTables, folder: Path):
    written, spent = rows(folder / "answers.jsonl"), rows(folder / "costs.jsonl")
    for row, answer, cost in zip(run.answers, written, spent, strict=True):
        assert row["question_id"] == answer["id"] == cost["id"]
        assert (row["answer"], row["f1"], row["completions"]) == (answer["answer"], answer["f1"], answer["completions"])
        assert (row["seconds"], row["cached"]) == (cost["seconds"], cost["cached"])


def test_nodes_are_those_of_the_trees(run: esp.tables.RunTables, folder: Path):
    trees = rows(folder / "trees.jsonl")
    nodes = list(run.nodes)
    assert len(nodes) == len(run.nodes) == sum(len(tree["nodes"]) for tree in trees)
    where = {(row["question_id"], row["node"]): row for row in nodes}
    for tree in trees:
        for number, node in enumerate(tree["nodes"]):
            row = where[tree["id"], node["id"]]
            parent = None if node["parent"] is None else where[tree["id"], node["parent"]]
            assert row["depth"] == (0 if parent is None else parent["depth"] + 1)
            assert (row["visits"], row["value"], row["text"]) == (node["visits"], node["value"], node.get("text"))
            assert row["documents"] == [document["id"] for document in node.get("documents", [])]
            assert row["annotation_judged"] == tree["annotations"]["judged"][number]
    assert list(esp.tables.nodes_of(run.trees)) == nodes


@pytest.mark.parametrize(
    ("table", "file", "change", "message"),
    [
        ("answers", "answers", lambda row: row.pop("id"), "answers.jsonl:2: field 'id': is missing"),
        ("costs", "trees", lambda row: row["costs"].update(judge=1), "trees.jsonl:2: field 'costs.judge': should be"),
        ("nodes", "trees", lambda row: row.pop("nodes"), "trees.jsonl:2: field 'nodes': is missing"),
        ("nodes", "trees", lambda row: row["nodes"][1].update(parent=1), r"field 'nodes\[1\].parent': is 1, allowed"),
        ("nodes", "trees", lambda row: row["annotations"]["judged"].pop(), "field 'annotations.judged': should have"),
    ],
)
def test_damaged_rows_are_named(folder: Path, tmp_path: Path, table: str, file: str, change, message: str):
    damaged = Path(shutil.copytree(folder, tmp_path / "run"))
    lines = rows(folder / f"{file}.jsonl")
    change(lines[1])
    esp.write_jsonl(damaged / f"{file}.jsonl", lines)
    with pytest.raises(esp.errors.InputError, match=message):
        getattr(esp.read_run(damaged), table)


def test_costs_add_up_to_the_summary(run: esp.tables.RunTables):
    for purpose, spent in run.summary["by_purpose"].items():
        tokens = sum(row["prompt_tokens"] for row in run.costs if row["purpose"] == purpose)
        assert tokens == spent["prompt_tokens"]
        unread = sum(row["unread"] for row in run.costs if row["purpose"] == purpose)
        assert unread == spent["calls"] - spent["readable"]


def test_products_are_the_training_rows(run: esp.tables.RunTables, folder: Path):
    assert set(run.products) == {"sft", "prm", "rft", "rollouts", "cold_start"}
    written = rows(folder / "prm.jsonl")
    assert len(run.products["prm"]) == len(written) > 0
    row = next(iter(run.products["prm"]))
    assert row["chosen"] == written[0]["chosen"]
    assert json.loads(row["provenance"]["options"]) == written[0]["provenance"]["options"]


@NEEDS["pandas"]
def test_pandas_gets_typed_columns(run: esp.tables.RunTables):
    frame = run.nodes.to_pandas()
    assert len(frame) == len(run.nodes) and list(frame.columns) == list(run.nodes.columns)
    assert str(frame["parent"].dtype) == "Int64" and str(frame["reward"].dtype) == "float64"
    roots = frame[frame["parent"].isna()]
    assert len(roots) == 4 and set(roots["depth"]) == {0}
    joined = frame.merge(run.answers.to_pandas(), on="question_id")
    assert len(joined) == len(frame)


@NEEDS["pyarrow"]
def test_arrow_and_parquet_keep_every_value(run: esp.tables.RunTables, tmp_path: Path):
    import pyarrow
    import pyarrow.parquet

    for table in (run.answers, run.nodes, run.costs, run.products["prm"]):
        assert table.to_arrow().to_pylist() == list(table)
        assert pyarrow.table(table) == table.to_arrow()
    written = run.to_parquet(tmp_path / "tables")
    assert {file.name for file in written} >= {"answers.parquet", "nodes.parquet", "costs.parquet", "prm.parquet"}
    assert pyarrow.parquet.read_table(tmp_path / "tables" / "nodes.parquet").to_pylist() == list(run.nodes)
    assert not list(tmp_path.rglob("*.part"))
    # Columns have their types where nothing is in them.
    empty = esp.tables.Table("empty", [{"a": None}], {"a": "float", "b": "texts"}).to_arrow()
    assert [str(t) for t in empty.schema.types] == ["double", "list<item: string>"]
    with pytest.raises(esp.errors.InputError, match="mixed: column 'a'"):
        esp.tables.Table("mixed", [{"a": 1}, {"a": "x"}]).to_arrow()


@NEEDS["datasets"]
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_datasets_gets_the_same_rows(run: esp.tables.RunTables):
    assert run.products["prm"].to_datasets().to_list() == list(run.products["prm"])


def test_what_is_absent_is_named(tmp_path: Path, run: esp.tables.RunTables, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(esp.errors.InputError, match=r"no finished run"):
        esp.read_run(tmp_path)
    for package, convert in [("pandas", "to_pandas"), ("pyarrow", "to_arrow"), ("datasets", "to_datasets")]:
        monkeypatch.setitem(__import__("sys").modules, package, None)
        with pytest.raises(esp.errors.MissingPart, match=rf"needs {package}: pip install {package}"):
            getattr(run.answers, convert)()
    (tmp_path / "summary.json").write_text("{}")
    (tmp_path / "answers.jsonl").write_text('{"id": "q"}\n{oops\n')
    with pytest.raises(esp.errors.InputError, match=r"answers.jsonl:2: is not JSON"):
        _ = esp.read_run(tmp_path).answers
