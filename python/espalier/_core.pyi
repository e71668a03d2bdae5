"""What the compiled part offers, for type checkers. tests/python/test_types.py compares it with the module."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .bridge.per_request import PerRequest
from .errors import BackendError
from .notebook.picture import Picture
from .protocols import EncoderLike, LanguageModelLike, PruningLike, RerankerLike, RetrieverLike, RewardLike

class Passage:
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, id: str, title: str, text: str, score: float = ...) -> None: ...
    id: Final[str]
    score: Final[float]
    text: Final[str]
    title: Final[str]

class Query:
    def __init__(self, text: str, k: int = ...) -> None: ...
    k: Final[int]
    text: Final[str]

class EncodeRequest:
    def __init__(self, text: str, role: str = ...) -> None: ...
    role: Final[str]
    text: Final[str]

class ChainStep:
    def __init__(
        self, question: str, answer: str, support_title: str = ..., support_id: str = ..., support_text: str = ...
    ) -> None: ...
    answer: Final[str]
    question: Final[str]
    support_id: Final[str]
    support_text: Final[str]
    support_title: Final[str]

class Question:
    def __init__(
        self, text: str, id: str = ..., gold: Sequence[str] = ..., chain: Sequence[ChainStep] = ...
    ) -> None: ...
    chain: Final[list[ChainStep]]
    gold: Final[list[str]]
    hops: Final[int]
    id: Final[str]
    supporting_titles: Final[list[str]]
    text: Final[str]
    type: Final[str]

class Prompt:
    def __init__(
        self, text: str, *, temperature: float = ..., max_tokens: int = ..., stop: Sequence[str] = ...,
        seed: int = ..., sample: int = ..., prefill: str = ..., ids: Sequence[int] = ..., grammar: str = ...,
        keep_tokens: bool = ...,
    ) -> None: ...  # fmt: skip
    grammar: Final[str]
    keep_tokens: Final[bool]
    key: Final[str]
    logprobs: Final[bool]
    max_tokens: Final[int]
    messages: Final[list[dict[str, str]]]
    purpose: Final[str]
    sample: Final[int]
    seed: Final[int]
    slots: Final[dict[str, str]]
    stop: Final[list[str]]
    temperature: Final[float]
    text: Final[str]
    token_logprobs: Final[bool]
    top_k: Final[int]
    top_p: Final[float]

class Completion:
    def __init__(
        self, text: str, *, finish: str = ..., prompt_tokens: int = ..., completion_tokens: int = ...,
        thinking_tokens: int = ..., logprob: float | None = ..., tokens: Sequence[tuple[str, float]] = ...,
        token_ids: Sequence[int] = ..., logprobs: Sequence[float] = ...,
    ) -> None: ...  # fmt: skip
    def _failed(self, prompt: Prompt) -> bool: ...
    completion_tokens: Final[int]
    damaged: Final[bool]
    finish: Final[str]
    logprob: Final[float | None]
    logprobs: Final[list[float]]
    prompt_tokens: Final[int]
    text: Final[str]
    thinking_tokens: Final[int]
    token_ids: Final[list[int]]
    tokens: Final[list[tuple[str, float]]]

class State:
    answer: Final[str | None]
    iterations: Final[int]
    question: Final[Question]
    retrievals: Final[int]
    segments: Final[list[tuple[str, str | list[Passage]]]]

class F1:
    def __call__(self, states: Sequence[State]) -> list[float]: ...
    def __init__(self, profile: str = ...) -> None: ...

class ExactMatch:
    def __call__(self, states: Sequence[State]) -> list[float]: ...
    def __init__(self, profile: str = ...) -> None: ...

class Accuracy:
    def __call__(self, states: Sequence[State]) -> list[float]: ...
    def __init__(self, profile: str = ...) -> None: ...

class Agreement:
    def __call__(self, states: Sequence[State]) -> list[float]: ...
    def __init__(self) -> None: ...

class Model:
    def __call__(self, requests: Sequence[Prompt]) -> list[Completion]: ...

class Retriever:
    def __call__(self, requests: Sequence[Query]) -> list[list[Passage]]: ...

class Encoder:
    def __call__(self, requests: Sequence[EncodeRequest]) -> list[list[float]]: ...

class Simulated(Model):
    def __init__(
        self, questions: Sequence[Question], *, recall: float = ..., decompose: float = ..., phrase: float = ...,
        read: float = ..., stop: float = ..., hallucinate: float = ..., malformed: float = ..., judge: float = ...,
        seed: int = ...,
    ) -> None: ...  # fmt: skip

class Bm25(Retriever):
    def __init__(
        self, passages: Sequence[Passage], *, k1: float = ..., b: float = ..., analyzer: str = ..., threads: int = ...
    ) -> None: ...

class Index(Retriever):
    def __getitem__(self, arg0: int, /) -> Passage: ...
    def __init__(self, folder: str | os.PathLike[str]) -> None: ...
    def __len__(self) -> int: ...
    description: Final[str]
    def dense(self, encoder: EncoderLike, *, threads: int = ...) -> Retriever: ...
    def verify(self) -> None: ...

class World:
    def __init__(self, passages: int = ..., questions: int = ..., seed: int = ..., *, max_hops: int = ...) -> None: ...
    passages: Final[list[Passage]]
    questions: Final[list[Question]]

class Dense(Retriever):
    def __init__(
        self, passages: Sequence[Passage], encoder: EncoderLike, *, vectors: Any = ..., metric: str = ...,
        threads: int = ...,
    ) -> None: ...  # fmt: skip

class Faiss(Retriever):
    def __init__(
        self, passages: Sequence[Passage], encoder: EncoderLike, *, file: str, nprobe: int = ...,
        ef_search: int = ..., threads: int = ...,
    ) -> None: ...  # fmt: skip

class OpenAi(Model):
    def __init__(
        self, url: str, model: str, *, endpoints: Sequence[str] = ..., revision: str = ..., api: str = ...,
        server: str = ..., stream: bool = ..., extra_body: str = ..., thinking: str = ..., finish_reasons: str = ...,
        api_key_env: str = ..., api_key_file: str = ..., session: str = ..., in_process: bool = ...,
        in_flight: int = ..., timeout: float = ..., deadline: float = ..., attempts: int = ..., wait: float = ...,
    ) -> None: ...  # fmt: skip

class RerankRequest:
    def __init__(self, query: str, texts: Sequence[str]) -> None: ...
    query: Final[str]
    texts: Final[list[str]]

class Reranker:
    def __call__(self, requests: Sequence[RerankRequest]) -> list[list[float]]: ...

class Hybrid(Retriever):
    def __init__(self, retrievers: Sequence[RetrieverLike], *, depth: int = ..., constant: float = ...) -> None: ...

class Reranked(Retriever):
    def __init__(self, retriever: RetrieverLike, reranker: RerankerLike, *, depth: int = ...) -> None: ...

class HttpReranker(Reranker):
    def __init__(
        self, url: str, model: str, *, revision: str = ..., api_key_env: str = ..., api_key_file: str = ...,
        in_flight: int = ..., timeout: float = ..., deadline: float = ..., attempts: int = ..., wait: float = ...,
    ) -> None: ...  # fmt: skip

class HttpScorer(Encoder):
    def __init__(
        self, url: str, model: str, *, revision: str = ..., task: str = ..., batch: int = ..., in_flight: int = ...,
        timeout: float = ..., deadline: float = ..., attempts: int = ..., wait: float = ...,
    ) -> None: ...  # fmt: skip

class HttpRetriever(Retriever):
    def __init__(
        self, url: str, name: str = ..., *, api: str = ..., rerank_depth: int = ..., batch: int = ...,
        in_flight: int = ..., timeout: float = ..., deadline: float = ..., attempts: int = ..., wait: float = ...,
    ) -> None: ...  # fmt: skip

class HttpEncoder(Encoder):
    def __init__(
        self, url: str, model: str, *, profile: str = ..., query_prefix: str | None = ...,
        passage_prefix: str | None = ..., normalise: bool | None = ..., max_tokens: int | None = ...,
        llamacpp: bool = ..., api_key_env: str = ..., batch: int = ..., in_flight: int = ..., timeout: float = ...,
        deadline: float = ..., attempts: int = ..., wait: float = ...,
    ) -> None: ...  # fmt: skip
    model: Final[str]
    profile: Final[str]

class Environment:
    def __init__(
        self, *, documents: int = ..., max_rounds: int = ..., dedup: str = ..., temperature: float = ...,
        top_p: float = ..., max_tokens: int = ..., resample: int = ..., prompts: str = ...,
    ) -> None: ...  # fmt: skip

class Node:
    def __eq__(self, arg0: object, /) -> bool: ...
    children: Final[list[Node]]
    id: Final[int]
    kind: Final[str | None]
    parent: Final[Node | None]
    @property
    def path(self) -> list[Node]: ...
    prior: Final[float]
    reason: Final[str | None]
    reward: Final[float | None]
    state: Final[State]
    status: Final[str]
    text: Final[str]
    thought: Final[str]
    value: Final[float]
    visits: Final[int]

class Tree:
    def __len__(self) -> int: ...
    def plot(self, file: str | os.PathLike[str] | None = ..., *, most: int = ...) -> Picture: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def to_row(self) -> dict[str, Any]: ...
    best_node: Final[Node | None]
    costs: Final[dict[str, dict[str, int]]]
    error: Final[str | None]
    first_unread: Final[dict[str, tuple[str, int | None]]]
    outside: Final[str]
    method: Final[str]
    nodes: Final[list[Node]]
    options: Final[dict[str, Any]]
    oracle: Final[bool]
    question: Final[Question]
    root: Final[Node]
    seed: Final[int]
    status: Final[str]

class Rollout:
    def __init__(self, reward: RewardLike, *, n: int = ..., max_steps: int = ...) -> None: ...

class Search:
    def start(
        self, questions: Sequence[Question], *, retriever: RetrieverLike | None = ...,
        reward: RewardLike | None = ..., seed: int = ...,
    ) -> Session: ...  # fmt: skip
    method: Final[str]
    options: Final[str]

class Method(Search):
    def __init__(
        self, name: str, *, preset: str | None = ..., answer: bool = ..., set: Sequence[tuple[str, str]] = ...,
        models: Mapping[str, LanguageModelLike] = ..., encoder: EncoderLike | None = ...,
        values: EncoderLike | None = ..., reward: RewardLike | None = ..., prune: PruningLike | None = ...,
        prompts: str = ...,
    ) -> None: ...  # fmt: skip
    def _lines(self, trees: Sequence[Tree]) -> dict[str, str]: ...

class Session:
    def run(self, open_questions: int) -> None: ...
    def pending(self) -> list[tuple[int, Prompt]]: ...
    def resume(self, replies: Mapping[int, str | Completion | BackendError]) -> None: ...
    done: Final[bool]
    errors: Final[dict[int, BackendError]]
    trees: Final[list[Tree | None]]

class Uct:
    def __init__(self, *, w: float = ..., first_play: str = ..., unvisited: float = ...) -> None: ...

class Puct:
    def __init__(self, *, c: float = ..., first_play: str = ..., unvisited: float = ..., visits: str = ...) -> None: ...

class Mcts(Search):
    def __init__(
        self, evaluate: Rollout, *, select: Uct | Puct = ..., simulations: int = ..., width: int = ...,
        max_depth: int | None = ..., window: int = ..., expand: str = ..., collision: str = ..., values: str = ...,
        solve: bool = ..., widen_k: float = ..., widen_alpha: float = ..., prior: str = ..., tau: float = ...,
        graft: bool = ..., prune: PruningLike | None = ..., environment: Environment = ...,
    ) -> None: ...  # fmt: skip

class Beam(Search):
    def __init__(
        self, evaluate: Rollout, *, beam: int = ..., width: int = ..., max_depth: int = ...,
        prune: PruningLike | None = ..., environment: Environment = ...,
    ) -> None: ...  # fmt: skip

class Proposal:
    def __init__(self, action: Any, prior: float = ...) -> None: ...
    action: Final[Any]
    prior: Final[float]

class Pruning:
    def __init__(self, *policies: PruningLike | None, moment: str = ...) -> None: ...
    name: Final[str]

class Siblings:
    depth: Final[int]
    evaluated: Final[NDArray[np.bool_]]
    highest: Final[float]
    kinds: Final[NDArray[np.int64]]
    lowest: Final[float]
    parent_value: Final[float]
    parent_visits: Final[float]
    pending: Final[NDArray[np.int64]]
    status: Final[NDArray[np.str_]]
    totals: Final[NDArray[np.float64]]
    visits: Final[NDArray[np.int64]]

class ProblemNode:
    def __eq__(self, arg0: object, /) -> bool: ...
    action: Final[Any]
    children: Final[list[ProblemNode]]
    id: Final[int]
    kind: Final[int]
    parent: Final[ProblemNode | None]
    prior: Final[float]
    state: Final[Any]
    status: Final[str]
    value: Final[float]
    visits: Final[int]

class ProblemTree:
    def __len__(self) -> int: ...
    nodes: Final[list[ProblemNode]]
    root: Final[ProblemNode]

class Answering:
    def __init__(self, settings: dict[str, Any]) -> None: ...
    def ask(self, id: int, text: str, question_id: str, seed: int) -> None: ...
    def cancel(self, id: int) -> None: ...
    def run(self, done: Callable[[int, Tree | Exception], object]) -> None: ...
    def stop(self) -> None: ...
    options: Final[str]

class Progress:
    best_reward: Final[float]
    calls: Final[int]
    probes: Final[int | None]
    questions: Final[int]
    questions_done: Final[int]
    seconds: Final[float]
    tokens: Final[int]
    trouble: Final[str]

def best_answer(tree: Tree) -> str | None: ...
def build_index(
    corpus: str | os.PathLike[str], out: str | os.PathLike[str], *, analyzer: str = ..., k1: float = ...,
    b: float = ..., threads: int = ..., overwrite: bool = ..., encoder: EncoderLike | None = ...,
    encoder_name: str = ..., metric: str = ..., journal: str = ...,
    progress: Callable[[str, int, int], object] | None = ...,
) -> None: ...  # fmt: skip
def build_info() -> dict[str, Any]: ...
def check_job(task: str, settings: dict[str, Any]) -> None: ...
def changed_outputs(folder: str) -> list[str]: ...
def check_journal(file: str) -> None: ...
def copy_journal(source: str, target: str, run: str) -> None: ...
def in_shard(shard: str, id: str) -> bool: ...
def metric_profiles() -> list[str]: ...
def method_options(method: str, in_run: bool = ...) -> list[list[str]]: ...
def method_prompts(
    method: str, set: Sequence[tuple[str, str]] = ...
) -> list[tuple[str, str, list[str], list[tuple[str, str, str]]]]: ...
def copyable_texts(method: str, purpose: str, text: str) -> list[str]: ...
def method_names() -> list[str]: ...
def grammar(method: str, purpose: str, *, max_tokens: int = ..., dialect: str = ...) -> str: ...
def mcts_problem(
    functions: Sequence[Callable[..., Any] | PerRequest[Any]], roots: Sequence[Any],
    select: Uct | Puct | Callable[..., Any], sees_siblings: bool, prune: PruningLike | None,
    backup: Callable[..., Any] | None, simulations: int, width: int, max_depth: int | None, window: int,
    values: str, seed: int,
) -> tuple[list[ProblemTree | None], dict[int, Exception]]: ...  # fmt: skip
def layered_problem(
    functions: Sequence[Callable[..., Any] | PerRequest[Any]], roots: Sequence[Any], prune: PruningLike | None,
    width: int, seed: int,
) -> tuple[list[ProblemTree | None], dict[int, Exception]]: ...  # fmt: skip

id_fields: Final[tuple[str, ...]]

def normal_form(text: str) -> str: ...
def gold_name(name: str) -> str: ...
def unread_gold(row: str, gold: list[str]) -> str: ...
def read_passages(path: str, limit: int) -> list[Passage]: ...
def read_questions(path: str, limit: int, require_gold: bool) -> list[Question]: ...
def read_trees(path: str) -> list[Tree]: ...
def note_outputs(folder: str, next: str, journal: str | None = ...) -> None: ...
def open_session(
    search: Search, questions: Sequence[Question], model: LanguageModelLike, retriever: RetrieverLike | None,
    reward: RewardLike | None, seed: int, in_flight: int, journal: str, fingerprint: str | None,
    retriever_fingerprint: str | None,
) -> Session: ...  # fmt: skip
def run_job(
    task: str,
    settings: dict[str, Any],
    progress: Callable[[Progress], None] | None,
    add_outputs: Callable[[str], object] | None,
) -> tuple[str, int, bool, list[str], str]: ...
def settings() -> list[tuple[str, str, str, str, str, str, str, str, str]]: ...
def score(profile: str, prediction: str | None, gold: Sequence[str]) -> dict[str, float]: ...
def write_json(file: str, text: str) -> None: ...
def write_world(folder: str, passages: int, questions: int, seed: int, max_hops: int) -> None: ...
def try_prompts(settings: dict[str, Any]) -> list[tuple[str, bool, str, int, bool, str]]: ...

class WorkFolder:
    def __init__(self, folder: str | os.PathLike[str], work: str) -> None: ...
    next: Final[Path]
    def commit(self, shared: bool = ...) -> None: ...
    def release(self) -> None: ...

def open_input(path: str) -> int: ...
def settle(folder: str | os.PathLike[str]) -> None: ...
def ingest_batch(
    requests: list[str], responses: str, journal: str, finish_reasons: str
) -> tuple[list[str], list[tuple[str, str]], int, str]: ...
