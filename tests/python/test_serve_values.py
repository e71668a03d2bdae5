"""`espalier serve values`: the value interface and its limits, with a function in the model's place."""

from collections.abc import Sequence
from typing import Any

import pytest
from espalier.serve import values
from espalier.serve.values import Limits
from serving import Client, Test, against, door, refused


def lengths(texts: Sequence[Any]) -> list[tuple[float, ...]]:
    """Two numbers of each text. Raises ValueError for one that is too long for the model."""
    if any(len(text) > 9 for text in texts):
        raise ValueError("a text has more than 9 tokens")
    return [(len(text) / 10, -len(text) / 10) for text in texts]


def rewards(texts: Sequence[Any]) -> list[tuple[float, ...]]:
    return [(float(len(text)),) for text in texts]


LIMITS = Limits(max_texts=3, max_text=20, queue=10, batch=8, time_limit=20)


def check(test: Test, model: Any = lengths) -> None:
    against(lambda listening: values.serve(model, model is rewards, door(), LIMITS, listening), test)


def test_the_value_interface():
    async def test(client: Client) -> None:
        status, reply, _ = await client.post("/value", {"texts": ["ab", "abc"]})
        assert (status, reply) == (200, {"plan": [0.2, 0.3], "search": [-0.2, -0.3]})
        assert (await client.post("/value", {"input_ids": [[5, 6, 7]]}))[1] == {"plan": [0.3], "search": [-0.3]}
        assert (await client.post("/classify", {"input": ["a"]}))[0] == 404

    check(test)


def test_rewards_are_read_as_annotate_reads_them():
    async def test(client: Client) -> None:
        asked = {"model": "prm", "input": ["ab", "c"], "text": ["ab", "c"], "use_activation": False}
        status, reply, _ = await client.post("/classify", asked)
        assert status == 200
        assert reply["data"] == [{"index": 0, "probs": [2.0]}, {"index": 1, "probs": [1.0]}]
        assert (await client.post("/classify", {"input": "abc"}))[1]["data"][0]["probs"] == [3.0]

    check(test, rewards)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 422, "texts must be a list of texts"),
        ({"texts": [1]}, 422, "texts[0] must be a text"),
        ({"texts": ["a"] * 4}, 413, "texts holds 4 texts, more than the 3 allowed"),
        ({"texts": ["a" * 21]}, 413, "texts[0] has 21 characters, more than the 20 allowed"),
        ({"input_ids": [[1, -1]]}, 422, "input_ids[0] must be a list of token ids"),
        ({"texts": ["a" * 10]}, 400, "a text has more than 9 tokens"),
        (b"{", 400, "the body is not JSON"),
    ],
)
def test_bad_requests_are_named(body: Any, status: int, message: str):
    async def test(client: Client) -> None:
        code, reply, _ = await client.post("/value", body)
        assert code == status and reply["error"]["message"].startswith(message)

    check(test)


def test_the_command_needs_a_model():
    assert refused("values")[0] == 2
