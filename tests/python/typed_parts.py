"""Parts as a user types them, for mypy alone (`make lint`). An unused `type: ignore` is an error."""

from collections.abc import Sequence
from typing import Any

import espalier as esp
import numpy as np
from espalier import protocols
from espalier.problem import Siblings, layered, mcts
from espalier.search import F1, Mcts, Rollout, Sibling, State, Verdict
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating]


def model(prompts: list[esp.Prompt]) -> list[str]:
    return ["yes"] * len(prompts)


async def later(prompts: Sequence[esp.Prompt]) -> list[esp.Completion | esp.errors.BackendError]:
    return [esp.Completion("yes") for _ in prompts]


@esp.aio.PerRequest
async def one_by_one(prompt: esp.Prompt) -> esp.Completion:
    return esp.Completion(prompt.text)


def retriever(queries: list[esp.Query]) -> list[list[esp.Passage]]:
    return [[] for _ in queries]


def encoder(requests: list[esp.parts.EncodeRequest]) -> Floats:
    return np.zeros((len(requests), 2))


async def encoder_elsewhere(requests: list[esp.parts.EncodeRequest]) -> Floats:
    return encoder(requests)


class Reranker:
    async def __call__(self, requests: list[esp.parts.RerankRequest]) -> list[list[float]]:
        return [[0.0 for _ in request.texts] for request in requests]


def reward(states: list[State]) -> list[float]:
    return [1.0 if state.answer else 0.0 for state in states]


class Countdown:
    def kinds(self, states: list[int]) -> list[list[int]]:
        return [[0] if left > 0 else [] for left in states]

    def propose(self, states: list[int], kinds: list[int], counts: list[int]) -> list[list[int]]:
        return [[1] for _ in states]

    async def step(self, states: list[int], actions: list[int], seeds: list[int]) -> list[int]:
        return [left - taken for left, taken in zip(states, actions, strict=True)]


def nearness(states: list[int]) -> list[float]:
    return [1 / (1 + left) for left in states]


def least_visited(N: Ints, Q: Floats, P: Floats) -> Ints:
    return -N


def fewest_finished(N: Ints, Q: Floats, P: Floats, siblings: Siblings) -> Ints:
    return -siblings.visits


def oldest_only(siblings: Sequence[Sibling]) -> Verdict:
    return Verdict(cut=[one.id for one in siblings[1:]])


def last_value(value: float, N: Ints, W: Floats) -> Floats:
    return value * N


questions = [esp.Question("Who?")]
search = Mcts(Rollout(reward))
esp.run(search, questions, model=model, retriever=retriever, reward=F1())
esp.run(search, questions, model=later, retriever=esp.Bm25([]))
esp.Method("prorag", models={"judge": one_by_one}, encoder=encoder_elsewhere)
esp.Reranked(esp.Hybrid([retriever, esp.Dense([], encoder)]), Reranker())
mcts(Countdown(), [3], nearness, select=least_visited, backup=last_value)
mcts(Countdown(), [3], nearness, select=fewest_finished, values="leaf")
layered(Countdown(), [3], nearness, prune=oldest_only)
judge: protocols.LanguageModel = esp.Simulated(questions)


def one_prompt(prompt: esp.Prompt) -> str:
    return prompt.text


@esp.aio.PerRequest
async def by_query(query: esp.Query) -> list[esp.Passage]:
    return []


def no_passages(queries: list[esp.Query]) -> list[str]:
    return [query.text for query in queries]


def of_texts(requests: list[str]) -> Floats:
    return np.zeros((len(requests), 2))


esp.answer(
    model=model, retriever=retriever, models={"judge": (model, "mine"), "rollout": model, "own_answer": "simulated"}
)


def words(states: list[State]) -> list[str]:
    return [str(state.answer) for state in states]


def nothing(siblings: Sequence[Sibling]) -> None:
    return None


class NoSteps:
    def kinds(self, states: list[Any]) -> list[list[int]]:
        return [[] for _ in states]


esp.answer(model=one_prompt)  # type: ignore[arg-type]  # not a batch
esp.run(search, questions, model=one_prompt)  # type: ignore[arg-type]  # not a batch
esp.run(search, questions, model=model, retriever=no_passages)  # type: ignore[arg-type]  # not passages
esp.Dense([], of_texts)  # type: ignore[arg-type]  # takes other requests
Rollout(words)  # type: ignore[arg-type]  # not numbers
esp.Reranked(retriever, retriever)  # type: ignore[arg-type]  # no reranker
esp.Method("prorag", models={"judge": reward})  # type: ignore[dict-item]  # no language model
esp.run(search, questions, model=by_query)  # type: ignore[arg-type]  # not text
mcts(NoSteps(), [3], nearness)  # type: ignore[arg-type]  # no environment
mcts(Countdown(), [3], nearness, select=oldest_only)  # type: ignore[arg-type]  # a pruning
mcts(Countdown(), [3], nearness, backup=least_visited)  # type: ignore[arg-type]  # a selection
layered(Countdown(), [3], nearness, prune=nothing)  # type: ignore[arg-type]  # no verdict
