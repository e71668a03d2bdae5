"""llama.cpp as an encoder in this process, with the micro model of the repository."""

import json
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import MICRO
from espalier.cli import main
from espalier.errors import BackendError, InputError
from espalier.parts import EncodeRequest

SETTING = f"gguf:{MICRO}?pooling=mean&threads=1"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    esp.write_world(folder, passages=60, questions=2, seed=3)
    return folder


def cosine(a: Any, b: Any) -> float:
    dot, square = (sum(x * y for x, y in zip(a, other, strict=True)) for other in (b, a))
    return float(dot / (square * sum(y * y for y in b)) ** 0.5)


def test_texts_become_vectors():
    texts = ["Alder is a town.", "Who founded the river?", "Alder is a town."]
    with esp.LlamaCppEncoder(MICRO, pooling="mean", profile="e5", context=256, threads=1) as encoder:
        vectors = encoder([EncodeRequest(text) for text in texts])
        assert encoder.model == f"model@{encoder.engine.revision}?pooling=mean" and encoder.profile == "e5"
        assert {len(vector) for vector in vectors} == {128}
        assert sum(number * number for number in vectors[0]) == pytest.approx(1, abs=1e-5)
        assert cosine(vectors[0], vectors[2]) > 0.9999 > cosine(vectors[0], vectors[1])
        with pytest.raises(BackendError, match=r"input \(\d+ tokens\) is too large"):
            encoder([EncodeRequest("word " * 300)])


def test_an_index_keeps_an_encoder_that_nobody_else_holds(world: Path):
    passages = esp.read_passages(world / "corpus.jsonl")
    retriever = esp.Dense(passages, esp.LlamaCppEncoder(MICRO, pooling="mean", threads=1))
    [found] = retriever([esp.Query(passages[7].text, 3)])
    assert found[0].id == passages[7].id


def test_it_ends_at_once():
    for _ in range(8):  # llama.cpp hung when it was freed before its loop ran
        esp.LlamaCpp(MICRO, slots=1, context=256, threads=1).close()


def test_a_run_searches_an_index_by_it_and_replays_without_it(world: Path, tmp_path: Path):
    index, out = tmp_path / "index", tmp_path / "out"
    file = tmp_path / "mine.gguf"
    file.write_bytes(MICRO.read_bytes())
    encoder = f"gguf:{file}?pooling=mean&threads=1"
    build = ["index", "build", "--corpus", str(world / "corpus.jsonl"), "--out", str(index)]
    assert main([*build, "--encoder", f"{encoder}&profile=e5"]) == 0
    asked: dict[str, Any] = {
        "method": "standard-rag", "questions": world / "questions.jsonl", "index": index, "retriever": "dense",
        "encoder": encoder, "encoder_profile": "e5", "out": out,
    }  # fmt: skip
    assert esp.answer(**asked).open == 0
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))["encoder"]
    assert record["name"].startswith("mine@") and record["name"].endswith("?pooling=mean")
    before = (out / "trees.jsonl").read_bytes()
    with pytest.raises(ValueError, match="encoder_name"):
        esp.answer(**{**asked, "encoder_profile": None, "out": tmp_path / "other"})
    assert esp.answer(**asked).recognised
    assert esp.answer(**asked, replay=True).open == 0
    file.unlink()
    assert esp.rescore(out, {}, out=tmp_path / "again").open == 0
    assert (out / "trees.jsonl").read_bytes() == before == (tmp_path / "again/trees.jsonl").read_bytes()


def test_recorded_trees_get_its_embeddings(world: Path, tmp_path: Path):
    files = {"questions": world / "questions.jsonl", "corpus": world / "corpus.jsonl"}
    esp.expand(**files, method="airrag", limit=1, out=tmp_path / "run")
    assert esp.annotate(tmp_path / "run", {"embedding": SETTING}).open == 0
    assert '"embedding"' in (tmp_path / "run/trees.jsonl").read_text(encoding="utf-8")


def test_a_model_without_pooling_is_named(world: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"model\.gguf: gives no embeddings by itself: .*'pooling': mean, cls or last"):
        esp.LlamaCppEncoder(MICRO)
    with pytest.raises(InputError, match="gives no embeddings"):
        given = {name: world / f"{name}.jsonl" for name in ("questions", "corpus")}
        esp.answer(**given, encoder=f"gguf:{MICRO}", out=tmp_path)
