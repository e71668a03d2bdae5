"""Adapters whose libraries are small, or stood in for by objects with their interface."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import espalier as esp
import numpy as np
import pytest
from espalier.adapters import SentenceEncoder, VllmModel
from espalier.adapters.sampling import seed_of, until_stop

PASSAGES = [
    esp.Passage("a", "Alder", "a town by the river Bem"),
    esp.Passage("b", "Bem", "a river that rises in the hills"),
    esp.Passage("c", "Cole", "a painter born in the town of Alder"),
]
TEXTS = [(p.title, p.text) for p in PASSAGES]


def test_a_reply_ends_behind_its_first_stop_string():
    assert until_stop("one</a> two</b>", ["</b>", "</a>"]) == ("one</a>", True)
    assert until_stop("one", ["</a>"]) == ("one", False)


def test_every_sample_has_a_seed_of_its_own():
    seeds = {seed_of(esp.Prompt("q", seed=s, sample=i)) for s in range(20) for i in range(20)}
    assert len(seeds) == 400 and max(seeds) < 2**63


class Encoder:
    def __init__(self) -> None:
        self.prompts = {"query": "query: ", "document": "passage: "}

    def encode(self, texts: list[str], **options: Any) -> Any:
        assert options["normalize_embeddings"] is False and options["prompt"] == ""
        return np.array([[len(text), text.startswith("query: ")] for text in texts], dtype=np.float32)


def test_sentence_encoders_put_the_models_own_prefixes_first():
    requests = [esp.parts.EncodeRequest("abc", "query"), esp.parts.EncodeRequest("abc", "passage")]
    assert SentenceEncoder(Encoder())(requests).tolist() == [[10, 1], [12, 0]]
    assert SentenceEncoder(Encoder(), query_prefix="", passage_prefix="x")(requests).tolist() == [[3, 0], [4, 0]]
    dense = esp.Dense(PASSAGES, SentenceEncoder(Encoder()))
    assert len(dense([esp.Query("a", 2)])[0]) == 2


class Llm:
    """Answers as vLLM's LLM does."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[Any], dict[str, Any]]] = []

    def chat(self, messages: list[Any], params: list[Any], **options: Any) -> list[Any]:
        self.calls.append(("chat", params, options))
        return [self.output(conversation[0]["content"]) for conversation in messages]

    def generate(self, texts: list[str], params: list[Any], **options: Any) -> list[Any]:
        self.calls.append(("generate", params, options))
        return [self.output(text) for text in texts]

    @staticmethod
    def output(text: str) -> Any:
        reply = SimpleNamespace(text=f"to {text}</a>", finish_reason="stop", token_ids=[1, 2, 3])
        return SimpleNamespace(outputs=[reply], prompt_token_ids=[1] * len(text))


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("vllm")
    module.SamplingParams = lambda **fields: SimpleNamespace(**fields)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)


def test_vllm_gets_each_prompts_sampling_and_answers_in_order(vllm: None):
    llm = Llm()
    prompts = [
        esp.Prompt("one", prefill="<a>", temperature=0.5, max_tokens=7, stop=["</a>"], seed=1),
        esp.Prompt("three", sample=1),
        esp.Prompt("two", prefill="<a>"),
    ]
    answers = VllmModel(llm)(prompts)
    assert [a.text for a in answers] == ["to one</a>", "to three</a>", "to two</a>"]
    assert [(a.finish, a.prompt_tokens, a.completion_tokens) for a in answers[:2]] == [("stop", 3, 3), ("stop", 5, 3)]
    (_, fresh, new), (_, begun, going) = llm.calls
    assert (new["add_generation_prompt"], new["continue_final_message"]) == (True, False)
    assert (going["add_generation_prompt"], going["continue_final_message"]) == (False, True)
    first = begun[0]
    assert (first.temperature, first.max_tokens, first.stop, first.seed) == (0.5, 7, ["</a>"], seed_of(prompts[0]))
    assert first.include_stop_str_in_output and len(fresh) == 1
    assert first.top_k == -1  # all tokens


def test_vllm_continues_bare_text_without_a_template(vllm: None):
    llm = Llm()
    [answer] = VllmModel(llm, chat=False)([esp.Prompt("Q: ", prefill="A:")])
    assert answer.text == "to Q: A:</a>" and llm.calls[0][0] == "generate"


def test_without_vllm_the_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(esp.errors.MissingPart, match="vllm"):
        VllmModel(Llm())
