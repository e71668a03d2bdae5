"""A typed class for each of the five methods, from the table of their options by tools/make_methods.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from .protocols import EncoderLike, LanguageModelLike, PruningLike, RewardLike
from .search.method import TypedMethod

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AirRag", "DecExRag", "DecoupleRag", "ProRag", "ReasonRag"]

Profile: TypeAlias = Literal[
    "squad2", "hotpot", "musique", "flashrag", "search_r1", "prorag", "reasonrag", "hiprag", "search_o1", "decouple"
]


class Options(TypedDict, total=False):
    """Keywords of all five."""

    documents: int | None
    reward: Literal["f1", "em", "acc", "agreement"] | RewardLike | None
    temperature: float | None
    max_tokens: int | None
    max_calls: int | None
    l_max: int | None
    match_budget: bool | None
    shots: int | None
    prune: PruningLike | None
    set: Mapping[str, object] | None
    preset: Literal["paper", "code"] | None
    answer: bool | None
    prompts: str | None
    models: Mapping[str, LanguageModelLike] | None


class DecExRagOptions(Options, total=False):
    k: int | None
    n: int | None
    T_max: int | None
    threshold: float | None
    search: Literal["pruned", "no_pruning", "full_node"] | None
    termination: Literal["vote", "mean_f1", "vote_and_f1"] | None
    vote_over: Literal["readable", "all"] | None
    form: Literal["prompts", "policy"] | None
    always_expand_both: bool | None
    stop_pairs: bool | None
    compare_across: bool | None
    curtail: Literal["none", "exact", "halving"] | None
    rollout_rounds: int | None
    refusals: str | None
    inference: Literal["policy", "expansion"] | None
    chain: Literal["best", "most", "least", "random"] | None
    decision_value: Literal["best", "mean"] | None
    margin: float | None


class DecExRag(TypedMethod):
    """DecEx-RAG: pruned search over decisions and their executions."""

    _name = "decex"

    def __init__(self, **options: Unpack[DecExRagOptions]) -> None:
        super().__init__(**options)


class DecoupleRagOptions(Options, total=False):
    simulations: int | None
    children: int | None
    w: float | None
    divide_again: bool | None
    inner_scale: float | None
    judge_all: bool | None
    stop_correct: int | None
    terminal: Literal["match", "judge"] | None
    window: int | None
    max_depth: int | None
    B1: int | None
    keep1: int | None
    B2: int | None
    keep2: int | None
    oversample: int | None
    diversity: Literal["none", "charset"] | None
    values: Literal["judge", "server", "head", "none"] | None
    rank_plans: Literal["value", "random"] | None
    rank_searches: Literal["value", "random"] | None
    recall: float | None
    wrong: int | None
    policy_plan: float | None
    skip_yes_no: bool | None
    encoder: EncoderLike | None
    score: EncoderLike | None


class DecoupleRag(TypedMethod):
    """DecoupleRAG: tree search with a plan value and a search value for each step."""

    _name = "decouple"

    def __init__(self, **options: Unpack[DecoupleRagOptions]) -> None:
        super().__init__(**options)


class AirRagOptions(Options, total=False):
    rollouts: int | None
    w: float | None
    n_say: int | None
    n_da: int | None
    n_ra: int | None
    n_qt: int | None
    n_sa: int | None
    q_div: bool | None
    max_pairs: int | None
    max_depth: int | None
    da_terminal: bool | None
    window: int | None
    simulation: Literal["straight", "descent"] | None
    terminal_reward: Literal["jaccard", "self_consistency", "embedding", "reward_model", "zero"] | None
    choice: Literal["jaccard", "embedding", "refine", "reward_model"] | None
    good: float | None
    encoder: EncoderLike | None


class AirRag(TypedMethod):
    """AirRAG: tree search over five reasoning actions."""

    _name = "airrag"

    def __init__(self, **options: Unpack[AirRagOptions]) -> None:
        super().__init__(**options)


class ProRagOptions(Options, total=False):
    grow: Literal["search", "group", "none"] | None
    simulations: int | None
    samples: int | None
    c: float | None
    puct_visits: Literal["parent", "children"] | None
    gamma: float | None
    discount: Literal["from_end", "per_edge"] | None
    max_depth: int | None
    answer_depth: int | None
    force_answer: bool | None
    expand: Literal["all", "one"] | None
    prior: Literal["given", "uniform", "counts", "mean_logprob", "sum_logprob"] | None
    tau: float | None
    simulate: Literal["first", "random"] | None
    distinct: Literal["step", "action"] | None
    rollouts: int | None
    window: int | None
    solve: bool | None
    group: int | None
    profile: Profile | None
    annotate: Literal["none", "judge", "prm", "both", "cold_start"] | None
    compare: Literal["all", "pairs"] | None
    judge_visits: int | None
    judge_sees_stats: bool | None
    rft_threshold: float | None
    chain: Literal["best", "most", "least", "random"] | None
    mark_weight: float | None
    rewards: Literal["paper", "code"] | None
    bonus: Literal["always", "retrieved"] | None
    nu_step: float | None
    nu_outcome: float | None
    beta: float | None
    normalise: Literal["step", "token"] | None
    guide: Literal["none", "best_of_n", "beam"] | None
    best_of: int | None
    beam: int | None


class ProRag(TypedMethod):
    """ProRAG: PUCT over steps, with discounted outcomes."""

    _name = "prorag"

    def __init__(self, **options: Unpack[ProRagOptions]) -> None:
        super().__init__(**options)


class ReasonRagOptions(Options, total=False):
    simulations: int | None
    children: int | None
    c: float | None
    max_rounds: int | None
    last_word: bool | None
    answer_rounds: int | None
    window: int | None
    value: Literal["judge", "rollouts"] | None
    n: int | None
    decay: float | None
    alpha: float | None
    leaves: Literal["answers", "free", "all"] | None
    profile: Profile | None
    margin: float | None


class ReasonRag(TypedMethod):
    """ReasonRAG: tree search with shortest-path rewards."""

    _name = "reasonrag"

    def __init__(self, **options: Unpack[ReasonRagOptions]) -> None:
        super().__init__(**options)
