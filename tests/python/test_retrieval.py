"""Dense and hybrid retrieval, rerankers, encoders and their servers."""

import json
from collections.abc import Callable
from typing import Any

import espalier as esp
import numpy as np
import pytest
from conftest import ModelServer

PASSAGES = [
    *(esp.Passage("a", "Paris", "capital of France"), esp.Passage("b", "Rome", "capital of Italy")),
    esp.Passage("c", "Everest", "highest mountain"),
]


def letters(requests: list[esp.parts.EncodeRequest]) -> np.ndarray:
    """A count of each letter."""
    rows = [[request.text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for request in requests]
    return np.array(rows, dtype="float32")


def server(reply: Callable[[Any], Any]) -> ModelServer:
    """Answers each message with reply(body)."""
    return ModelServer(lambda body: (200, json.dumps(reply(body)).encode()))


def ids(retriever: esp.parts.Retriever, text: str, k: int = 3) -> list[str]:
    return [passage.id for passage in retriever([esp.Query(text, k)])[0]]


def test_dense_scores_are_inner_products() -> None:
    found = esp.Dense(PASSAGES, letters)([esp.Query("gggg", 1)])[0]
    assert [(p.id, p.score) for p in found] == [("c", 4.0)]  # one g in "highest", none elsewhere
    nearest = esp.Dense(PASSAGES, letters, metric="l2")([esp.Query("Rome\ncapital of Italy", 1)])[0]
    assert [(p.id, p.score) for p in nearest] == [("b", 0.0)]


def test_hybrid_sums_reciprocal_ranks() -> None:
    def first(queries: list[esp.Query]) -> list[list[esp.Passage]]:
        return [PASSAGES[: query.k] for query in queries]

    def second(queries: list[esp.Query]) -> list[list[esp.Passage]]:
        return [[PASSAGES[2], PASSAGES[0]] for _ in queries]

    hybrid = esp.Hybrid([first, second])
    found = hybrid([esp.Query("q", 3)])[0]
    assert [p.id for p in found] == ["a", "c", "b"]
    assert [p.score for p in found] == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62])
    assert ids(esp.Hybrid([esp.Bm25(PASSAGES), esp.Dense(PASSAGES, letters)]), "mountain", 1) == ["c"]
    with pytest.raises(ValueError, match="depth"):
        esp.Hybrid([first], depth=0)
    with pytest.raises(ValueError, match="retrievers"):
        esp.Hybrid([])
    with pytest.raises(TypeError, match="retriever"):
        esp.Hybrid([3])  # type: ignore[list-item]


def test_a_failing_part_fails_the_query() -> None:
    def broken(queries: list[esp.Query]) -> list[esp.errors.BackendError]:
        return [esp.errors.BackendError("no index", permanent=True) for _ in queries]

    with pytest.raises(esp.errors.BackendError, match="no index"):
        esp.Hybrid([esp.Bm25(PASSAGES), broken])([esp.Query("q", 1)])


def test_a_function_reranks() -> None:
    seen: list[esp.parts.RerankRequest] = []

    def by_length(requests: list[esp.parts.RerankRequest]) -> list[list[float]]:
        seen.extend(requests)
        return [[float(len(text)) for text in request.texts] for request in requests]

    reranked = esp.Reranked(esp.Bm25(PASSAGES), by_length, depth=2)
    assert ids(reranked, "capital", 2) == ["a", "b"]
    assert seen[0].query == "capital"
    assert sorted(seen[0].texts) == ["Paris\ncapital of France", "Rome\ncapital of Italy"]


def test_a_server_reranks_inside_a_hybrid() -> None:
    def reply(body: Any) -> Any:
        return {"results": [{"index": i, "relevance_score": i} for i in range(len(body["documents"]))]}

    with server(reply) as running:
        reranker = esp.HttpReranker(f"{running.url}/rerank", "m")
        assert reranker([esp.parts.RerankRequest("q", ["x", "y"])]) == [[0.0, 1.0]]
        reranked = esp.Reranked(esp.Bm25(PASSAGES), reranker, depth=2)
        last = esp.Bm25(PASSAGES)([esp.Query("capital", 2)])[0][-1].id
        assert ids(esp.Hybrid([reranked, reranked]), "capital", 1) == [last]


def test_encoders_know_profiles_by_name() -> None:
    def reply(body: Any) -> Any:
        if "content" in body:  # at /tokenize
            return {"tokens": list(range(9))}
        return {"data": [{"index": i, "embedding": [3.0, 4.0]} for i in range(len(body["input"]))]}

    with server(reply) as running:
        encoder, sent = esp.HttpEncoder(running.url, "m", profile="e5"), running.requests
        assert encoder([esp.parts.EncodeRequest("who", "query")]) == [pytest.approx([0.6, 0.8])]
        assert sent[-1]["input"] == ["query: who"]
        cut = esp.HttpEncoder(running.url, "m", profile="minilm", max_tokens=4, normalise=False, llamacpp=True)
        assert cut([esp.parts.EncodeRequest("a long text", "passage")]) == [[3.0, 4.0]]
        assert sent[-1]["input"] == [[0, 1, 2, 8]]
    with pytest.raises(ValueError, match="profile"):
        esp.HttpEncoder("http://127.0.0.1:1/v1", "m", profile="e6")
    with pytest.raises(ValueError, match="max_tokens"):
        esp.HttpEncoder("http://127.0.0.1:1/v1", "m", max_tokens=2)


def test_scorers_read_numbers() -> None:
    def reply(body: Any) -> Any:
        return {"data": [{"index": i, "probs": [0.5, -1.0]} for i in range(len(body["input"]))]}

    with server(reply) as running:
        for address in ("classify", "classify?key=secret"):
            scorer = esp.parts.HttpScorer(f"{running.url}/{address}", "m")
            assert scorer([esp.parts.EncodeRequest("x", "passage")]) == [[0.5, -1.0]]
    with pytest.raises(ValueError, match="classify") as refused:
        esp.parts.HttpScorer("http://me:secret@127.0.0.1:1/other?key=secret", "m")
    assert "is http://127.0.0.1:1/other, allowed" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_retrievers_know_their_interfaces_by_name() -> None:
    for api in ("pyserini", "elasticsearch"):
        assert esp.HttpRetriever("http://127.0.0.1:1/search", api=api)
    with pytest.raises(ValueError, match="api"):
        esp.HttpRetriever("http://127.0.0.1:1", api="gopher")
