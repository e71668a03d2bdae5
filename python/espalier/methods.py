"""A typed class for each of the five methods, from the table of their options by tools/make_methods.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .protocols import EncoderLike, LanguageModelLike, RewardLike
from .search.method import TypedMethod

__all__ = ["AirRag", "DecExRag", "DecoupleRag", "ProRag", "ReasonRag"]


class DecExRag(TypedMethod):
    """DecEx-RAG: pruned search over decisions and their executions.

    An option that is not given has the default, or the preset's value.

    - documents: passages per search. Allowed: 1 or more. Default: 3.
    - dedup: what makes two samples equal. Allowed: exact, normalised. Default: normalised.
    - reward: what an answer is worth where trees are grown. Allowed: f1, em, acc, agreement. Default: f1.
    - resample: new samples for a reply that cannot be read. Allowed: 0 or more. Default: 2.
    - repair: ask the model once to fix a reply that cannot be read, before it is drawn again. Allowed: true, false.
      Default: False.
    - protocol: how replies name their action: tags in the text, or tools of the chat API. Allowed: tags, tools.
      Default: tags.
    - constrain: whether replies of every purpose follow their grammar. Allowed: off, on, draft. Default: off.
    - temperature: sampling temperature, 0 = greedy. Allowed: 0 or more. Default: 0.7.
    - top_p: sample from the likeliest tokens that have this share of the probability. Allowed: above 0, up to 1.
      Default: 1.
    - top_k: sample from so many of the likeliest tokens, 0 = all. Allowed: 0 or more. Default: 0.
    - max_tokens: most tokens of a reply. Allowed: 1 or more. Default: 512.
    - max_calls: budget per question in completions, 0 = none. Allowed: 0 or more. Default: 0.
    - max_tokens_total: budget per question in input + output tokens, 0 = none. Allowed: 0 or more. Default: 0.
    - max_seconds: budget per question in seconds, 0 = none. Allowed: 0 or more. Default: 0.
    - max_usd: budget per question in money at the prices below, 0 = none. Allowed: 0 or more. Default: 0.
    - match_budget: answer again until the budget is spent, and let the majority decide. Allowed: true, false.
      Default: False.
    - price_in: price per million input tokens. Allowed: 0 or more. Default: 0.
    - price_out: price per million output tokens. Allowed: 0 or more. Default: 0.
    - shots: worked examples before the question. Allowed: 0 to 2. Default: 0.
    - k: samples per decision. Allowed: 1 or more. Default: 3.
    - n: rollouts per execution. Allowed: 1 or more. Default: 4.
    - T_max: rounds of a search and searches of the policy loop, then the answer is forced. Allowed: 1 or more.
      Default: 4.
    - threshold: a value strictly above it is enough. Allowed: 0 to 1. Default: 0.6.
    - search: the modes of the paper's Table 2. Allowed: pruned, no_pruning, full_node. Default: pruned.
    - termination: what ends a search: the vote of the samples, the mean reward of their answers, or both. Allowed:
      vote, mean_f1, vote_and_f1. Default: vote.
    - form: what the search asks: its own prompts, or the policy's next steps, so that a trained policy is expanded.
      Allowed: prompts, policy. Default: prompts.
    - always_expand_both: expand retrieval also where own knowledge passes. Allowed: true, false. Default: False.
    - stop_pairs: value sub-questions also where the search stops, so that pairs can prefer to stop. Allowed: true,
      false. Default: False.
    - stop_at_root: the first round may stop too. Allowed: true, false. Default: False.
    - compare_across: own knowledge below the threshold still competes with the queries. Allowed: true, false.
      Default: False.
    - curtail: rollouts stop where the decision is certain, or by a rule that may err; pairs then need complete ones.
      Allowed: none, exact, halving, consistency, kl_lucb. Default: none.
    - delta: error rate of curtail=kl_lucb. Allowed: above 0, below 1. Default: 0.1.
    - rollout_rounds: rounds on a rollout's path, then it must answer. Allowed: 1 or more. Default: 8.
    - refusals: own answers with one of these phrases are closed: no knowledge. Allowed: phrases separated by ';',
      empty = none. Default: unknown; n/a; unanswerable; uncertain; don't know; do not know; not known; is unknown;
      remains unknown; not sure; no idea; never heard; cannot answer; can't answer; unable to answer; cannot
      determine; cannot be determined; unable to determine; no information; not enough information; insufficient
      information; not have enough; not have information; no answer.
    - inference: what `answer` runs: the policy loop, or the expansion under the agreement of rollouts. Allowed:
      policy, expansion. Default: policy.
    - chain: which correct chain becomes SFT rows and preference pairs, by its number of retrievals. Allowed: best,
      most, least, random. Default: most.
    - rows: what SFT rows teach: the policy, or also every prompt of the search along the chain. Allowed: policy, all.
      Default: policy.
    - decision_value: what a decision is worth in preference pairs: its best execution or their mean. Allowed: best,
      mean. Default: best.
    - margin: least difference of two rewards that make a preference pair. Allowed: 0 or more. Default: 0.1.
    - sampling: options of single purposes, {purpose: {option: value}}.
    - preset: the values of the paper, or of its code.
    - answer: the inference form, which sees no gold answer, in place of growing trees.
    - prompts: a folder of prompts to use in place of the built-in ones.
    - models: other models for single purposes, {purpose: model}.
    - encoder: embeds texts, for choices by embedding.

    The purposes are termination, forced_answer, sub_question, next_question, own_answer, sub_query, rollout.
    """

    _name = "decex"

    def __init__(
        self,
        *,
        documents: int | None = None,
        dedup: Literal["exact", "normalised"] | None = None,
        reward: Literal["f1", "em", "acc", "agreement"] | RewardLike | None = None,
        resample: int | None = None,
        repair: bool | None = None,
        protocol: Literal["tags", "tools"] | None = None,
        constrain: Literal["off", "on", "draft"] | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        max_tokens_total: int | None = None,
        max_seconds: float | None = None,
        max_usd: float | None = None,
        match_budget: bool | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
        shots: int | None = None,
        k: int | None = None,
        n: int | None = None,
        T_max: int | None = None,
        threshold: float | None = None,
        search: Literal["pruned", "no_pruning", "full_node"] | None = None,
        termination: Literal["vote", "mean_f1", "vote_and_f1"] | None = None,
        form: Literal["prompts", "policy"] | None = None,
        always_expand_both: bool | None = None,
        stop_pairs: bool | None = None,
        stop_at_root: bool | None = None,
        compare_across: bool | None = None,
        curtail: Literal["none", "exact", "halving", "consistency", "kl_lucb"] | None = None,
        delta: float | None = None,
        rollout_rounds: int | None = None,
        refusals: str | None = None,
        inference: Literal["policy", "expansion"] | None = None,
        chain: Literal["best", "most", "least", "random"] | None = None,
        rows: Literal["policy", "all"] | None = None,
        decision_value: Literal["best", "mean"] | None = None,
        margin: float | None = None,
        sampling: Mapping[str, Mapping[str, float]] | None = None,
        preset: Literal["paper", "code"] | None = None,
        answer: bool = False,
        prompts: str = "",
        models: Mapping[str, LanguageModelLike] | None = None,
        encoder: EncoderLike | None = None,
    ) -> None:
        self._begin(locals())


class DecoupleRag(TypedMethod):
    """DecoupleRAG: tree search with a plan value and a search value for each step.

    An option that is not given has the default, or the preset's value.

    - documents: passages per search. Allowed: 1 or more. Default: 5.
    - dedup: what makes two samples equal. Allowed: exact, normalised. Default: normalised.
    - reward: what an answer is worth where trees are grown. Allowed: f1, em, acc, agreement. Default: f1.
    - resample: new samples for a reply that cannot be read. Allowed: 0 or more. Default: 2.
    - repair: ask the model once to fix a reply that cannot be read, before it is drawn again. Allowed: true, false.
      Default: False.
    - protocol: how replies name their action: tags in the text, or tools of the chat API. Allowed: tags, tools.
      Default: tags.
    - constrain: whether replies of every purpose follow their grammar. Allowed: off, on, draft. Default: off.
    - temperature: sampling temperature, 0 = greedy. Allowed: 0 or more. Default: 1.
    - top_p: sample from the likeliest tokens that have this share of the probability. Allowed: above 0, up to 1.
      Default: 1.
    - top_k: sample from so many of the likeliest tokens, 0 = all. Allowed: 0 or more. Default: 0.
    - max_tokens: most tokens of a reply. Allowed: 1 or more. Default: 512.
    - max_calls: budget per question in completions, 0 = none. Allowed: 0 or more. Default: 0.
    - max_tokens_total: budget per question in input + output tokens, 0 = none. Allowed: 0 or more. Default: 0.
    - max_seconds: budget per question in seconds, 0 = none. Allowed: 0 or more. Default: 0.
    - max_usd: budget per question in money at the prices below, 0 = none. Allowed: 0 or more. Default: 0.
    - match_budget: answer again until the budget is spent, and let the majority decide. Allowed: true, false.
      Default: False.
    - price_in: price per million input tokens. Allowed: 0 or more. Default: 0.
    - price_out: price per million output tokens. Allowed: 0 or more. Default: 0.
    - shots: worked examples before the question. Allowed: 0 to 2. Default: 0.
    - simulations: simulations per labelled tree. Allowed: 1 or more. Default: 20.
    - children: samples per node. Allowed: 1 to 255. Default: 3.
    - w: exploration weight of UCT. Allowed: 0 or more. Default: 1.4.
    - divide_again: divide means by visits again (published code). Allowed: true, false. Default: False.
    - inner_scale: judged values are multiplied by this. Allowed: above 0, up to 1. Default: 1.
    - judge_all: judge all new children before the next selection. Allowed: true, false. Default: False.
    - stop_correct: ends a tree after this many right answers, 0 = never. Allowed: 0 or more. Default: 0.
    - terminal: judge answers by equality, or by a model that sees gold. Allowed: match, judge. Default: match.
    - window: simulations under way in one tree. Allowed: 1 to 65535. Default: 1.
    - max_depth: steps on one path, then `answer` forces the answer. Allowed: 1 or more. Default: 10.
    - B1: plans per state. Allowed: 1 to 255. Default: 3.
    - keep1: plans that go on. Allowed: 1 to 255. Default: 1.
    - B2: queries per plan. Allowed: 1 to 255. Default: 3.
    - keep2: queries that go on. Allowed: 1 to 255. Default: 1.
    - oversample: queries drawn for each valued one. Allowed: 1 to 255. Default: 1.
    - diversity: how the valued queries are chosen. Allowed: none, charset, token_jaccard. Default: none.
    - values: where values come from in `answer`. Allowed: judge, server, head, none. Default: judge.
    - rank_plans: plans go on by their value or by chance. Allowed: value, random. Default: value.
    - rank_searches: searches go on by their value or by chance. Allowed: value, random. Default: value.
    - recall: least share of a gold answer's words in the answer of a right path. Allowed: 0 to 1. Default: 0.8.
    - wrong: largest number of wrong paths per question. Allowed: 0 or more. Default: 10.
    - policy_plan: least last plan value of a path that trains the policy. Allowed: -1 to 1. Default: 0.7.
    - skip_yes_no: yes/no questions give no rows. Allowed: true, false. Default: False.
    - rows: what SFT rows teach: right paths as dialogues, or also every prompt along them. Allowed: paths, all.
      Default: paths.
    - sampling: options of single purposes, {purpose: {option: value}}.
    - preset: the values of the paper, or of its code.
    - answer: the inference form, which sees no gold answer, in place of growing trees.
    - prompts: a folder of prompts to use in place of the built-in ones.
    - models: other models for single purposes, {purpose: model}.
    - encoder: embeds texts, for choices by embedding.
    - score: maps texts to rows of two numbers, plan and search.

    The purposes are step, plan, query, forced_answer, judge, judge_answer.
    """

    _name = "decouple"

    def __init__(
        self,
        *,
        documents: int | None = None,
        dedup: Literal["exact", "normalised"] | None = None,
        reward: Literal["f1", "em", "acc", "agreement"] | RewardLike | None = None,
        resample: int | None = None,
        repair: bool | None = None,
        protocol: Literal["tags", "tools"] | None = None,
        constrain: Literal["off", "on", "draft"] | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        max_tokens_total: int | None = None,
        max_seconds: float | None = None,
        max_usd: float | None = None,
        match_budget: bool | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
        shots: int | None = None,
        simulations: int | None = None,
        children: int | None = None,
        w: float | None = None,
        divide_again: bool | None = None,
        inner_scale: float | None = None,
        judge_all: bool | None = None,
        stop_correct: int | None = None,
        terminal: Literal["match", "judge"] | None = None,
        window: int | None = None,
        max_depth: int | None = None,
        B1: int | None = None,
        keep1: int | None = None,
        B2: int | None = None,
        keep2: int | None = None,
        oversample: int | None = None,
        diversity: Literal["none", "charset", "token_jaccard"] | None = None,
        values: Literal["judge", "server", "head", "none"] | None = None,
        rank_plans: Literal["value", "random"] | None = None,
        rank_searches: Literal["value", "random"] | None = None,
        recall: float | None = None,
        wrong: int | None = None,
        policy_plan: float | None = None,
        skip_yes_no: bool | None = None,
        rows: Literal["paths", "all"] | None = None,
        sampling: Mapping[str, Mapping[str, float]] | None = None,
        preset: Literal["paper", "code"] | None = None,
        answer: bool = False,
        prompts: str = "",
        models: Mapping[str, LanguageModelLike] | None = None,
        encoder: EncoderLike | None = None,
        score: EncoderLike | None = None,
    ) -> None:
        self._begin(locals())


class AirRag(TypedMethod):
    """AirRAG: tree search over five reasoning actions.

    An option that is not given has the default, or the preset's value.

    - documents: passages per search. Allowed: 1 or more. Default: 3.
    - dedup: what makes two samples equal. Allowed: exact, normalised. Default: normalised.
    - reward: what an answer is worth where trees are grown. Allowed: f1, em, acc, agreement. Default: f1.
    - resample: new samples for a reply that cannot be read. Allowed: 0 or more. Default: 2.
    - repair: ask the model once to fix a reply that cannot be read, before it is drawn again. Allowed: true, false.
      Default: False.
    - protocol: how replies name their action: tags in the text, or tools of the chat API. Allowed: tags, tools.
      Default: tags.
    - constrain: whether replies of every purpose follow their grammar. Allowed: off, on, draft. Default: off.
    - temperature: sampling temperature, 0 = greedy. Allowed: 0 or more. Default: 0.7.
    - top_p: sample from the likeliest tokens that have this share of the probability. Allowed: above 0, up to 1.
      Default: 0.8.
    - top_k: sample from so many of the likeliest tokens, 0 = all. Allowed: 0 or more. Default: 50.
    - max_tokens: most tokens of a reply. Allowed: 1 or more. Default: 512.
    - max_calls: budget per question in completions, 0 = none. Allowed: 0 or more. Default: 0.
    - max_tokens_total: budget per question in input + output tokens, 0 = none. Allowed: 0 or more. Default: 0.
    - max_seconds: budget per question in seconds, 0 = none. Allowed: 0 or more. Default: 0.
    - max_usd: budget per question in money at the prices below, 0 = none. Allowed: 0 or more. Default: 0.
    - match_budget: answer again until the budget is spent, and let the majority decide. Allowed: true, false.
      Default: False.
    - price_in: price per million input tokens. Allowed: 0 or more. Default: 0.
    - price_out: price per million output tokens. Allowed: 0 or more. Default: 0.
    - shots: worked examples before the question. Allowed: 0 to 2. Default: 0.
    - rollouts: simulations of a tree. Allowed: 1 or more. Default: 1.
    - w: exploration weight of UCT. Allowed: 0 or more. Default: 1.4142135623730951.
    - n_say: samples of the system analysis. Allowed: 1 to 255. Default: 1.
    - n_da: samples of the direct answer. Allowed: 1 to 255. Default: 1.
    - n_ra: samples of an answer from documents. Allowed: 1 to 255. Default: 1.
    - n_qt: samples of a query transformation. Allowed: 1 to 255. Default: 1.
    - n_sa: samples of the summary. Allowed: 1 to 255. Default: 1.
    - q_div: analysis and transformation are sampled with temperature 1 and top_p 1. Allowed: true, false. Default:
      False.
    - max_pairs: most retrievals on a path, and most transformations. Allowed: 1 or more. Default: 4.
    - max_depth: actions on a path. Allowed: 2 or more. Default: 10.
    - da_terminal: a direct answer is final, else it feeds the summary. Allowed: true, false. Default: False.
    - l_max: input tokens per question, 0 = no limit. Allowed: 0 or more. Default: 0.
    - scale_documents: with l_max, as many passages per retrieval as fit into it, `documents` at least. Allowed: true,
      false. Default: True.
    - window: simulations under way in one tree. Allowed: 1 to 65535. Default: 1.
    - simulation: straight: by the first legal action, nodes are added after the search. descent: in random order,
      nodes are added at once. Allowed: straight, descent. Default: straight.
    - terminal_reward: what an answer is worth in `answer`, where no gold is seen. Allowed: jaccard, self_consistency,
      embedding, reward_model, zero. Default: jaccard.
    - select: which candidate is the answer. Allowed: jaccard, embedding, refine, reward_model. Default: jaccard.
    - good: least F1 of a completion that counts as good in prm.jsonl. Allowed: 0 to 1. Default: 0.5.
    - sampling: options of single purposes, {purpose: {option: value}}.
    - preset: the values of the paper, or of its code.
    - answer: the inference form, which sees no gold answer, in place of growing trees.
    - prompts: a folder of prompts to use in place of the built-in ones.
    - models: other models for single purposes, {purpose: model}.
    - encoder: embeds texts, for choices by embedding.

    The purposes are say, da, ra, qt, sa, refine, process_reward.
    """

    _name = "airrag"

    def __init__(
        self,
        *,
        documents: int | None = None,
        dedup: Literal["exact", "normalised"] | None = None,
        reward: Literal["f1", "em", "acc", "agreement"] | RewardLike | None = None,
        resample: int | None = None,
        repair: bool | None = None,
        protocol: Literal["tags", "tools"] | None = None,
        constrain: Literal["off", "on", "draft"] | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        max_tokens_total: int | None = None,
        max_seconds: float | None = None,
        max_usd: float | None = None,
        match_budget: bool | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
        shots: int | None = None,
        rollouts: int | None = None,
        w: float | None = None,
        n_say: int | None = None,
        n_da: int | None = None,
        n_ra: int | None = None,
        n_qt: int | None = None,
        n_sa: int | None = None,
        q_div: bool | None = None,
        max_pairs: int | None = None,
        max_depth: int | None = None,
        da_terminal: bool | None = None,
        l_max: int | None = None,
        scale_documents: bool | None = None,
        window: int | None = None,
        simulation: Literal["straight", "descent"] | None = None,
        terminal_reward: Literal["jaccard", "self_consistency", "embedding", "reward_model", "zero"] | None = None,
        select: Literal["jaccard", "embedding", "refine", "reward_model"] | None = None,
        good: float | None = None,
        sampling: Mapping[str, Mapping[str, float]] | None = None,
        preset: Literal["paper", "code"] | None = None,
        answer: bool = False,
        prompts: str = "",
        models: Mapping[str, LanguageModelLike] | None = None,
        encoder: EncoderLike | None = None,
    ) -> None:
        self._begin(locals())


class ProRag(TypedMethod):
    """ProRAG: PUCT over steps, with discounted outcomes.

    An option that is not given has the default, or the preset's value.

    - documents: passages per search. Allowed: 1 or more. Default: 3.
    - dedup: what makes two samples equal. Allowed: exact, normalised. Default: normalised.
    - reward: what an answer is worth where trees are grown. Allowed: f1, em, acc, agreement. Default: em.
    - resample: new samples for a reply that cannot be read. Allowed: 0 or more. Default: 2.
    - repair: ask the model once to fix a reply that cannot be read, before it is drawn again. Allowed: true, false.
      Default: False.
    - protocol: how replies name their action: tags in the text, or tools of the chat API. Allowed: tags, tools.
      Default: tags.
    - constrain: whether replies of every purpose follow their grammar. Allowed: off, on, draft. Default: off.
    - temperature: sampling temperature, 0 = greedy. Allowed: 0 or more. Default: 0.9.
    - top_p: sample from the likeliest tokens that have this share of the probability. Allowed: above 0, up to 1.
      Default: 0.95.
    - top_k: sample from so many of the likeliest tokens, 0 = all. Allowed: 0 or more. Default: 0.
    - max_tokens: most tokens of a reply. Allowed: 1 or more. Default: 512.
    - max_calls: budget per question in completions, 0 = none. Allowed: 0 or more. Default: 0.
    - max_tokens_total: budget per question in input + output tokens, 0 = none. Allowed: 0 or more. Default: 0.
    - max_seconds: budget per question in seconds, 0 = none. Allowed: 0 or more. Default: 0.
    - max_usd: budget per question in money at the prices below, 0 = none. Allowed: 0 or more. Default: 0.
    - match_budget: answer again until the budget is spent, and let the majority decide. Allowed: true, false.
      Default: False.
    - price_in: price per million input tokens. Allowed: 0 or more. Default: 0.
    - price_out: price per million output tokens. Allowed: 0 or more. Default: 0.
    - shots: worked examples before the question. Allowed: 0 to 2. Default: 0.
    - grow: trees of the search, groups of independent trajectories, or nothing but the question. Allowed: search,
      group, none. Default: search.
    - simulations: simulations per tree. Allowed: 1 or more. Default: 200.
    - samples: samples of a node's next step (K). Allowed: 1 to 255. Default: 5.
    - c: exploration weight of PUCT. Allowed: 0 or more. Default: 2.5.
    - puct_visits: what stands under the square root of PUCT: a parent's visits, or the sum of its children's (Eq. 2).
      Allowed: parent, children. Default: parent.
    - gamma: discount per step. Allowed: above 0, up to 1. Default: 0.99.
    - discount: by the steps to the trajectory's end, or by the edges above the simulated node. Allowed: from_end,
      per_edge. Default: from_end.
    - max_depth: steps on a path of a search. Allowed: 1 or more. Default: 10.
    - answer_depth: steps on a path of `answer` or of a group. Allowed: 1 or more. Default: 10.
    - force_answer: the last step of `answer` must answer. Allowed: true, false. Default: True.
    - expand: all children of a node at once, or one per simulation. Allowed: all, one. Default: all.
    - prior: where the priors of siblings come from. Allowed: given, uniform, counts, mean_logprob, sum_logprob.
      Default: counts.
    - tau: temperature of a prior from log-probabilities. Allowed: above 0. Default: 1.
    - simulate: which new child is simulated. Allowed: first, random. Default: first.
    - distinct: samples differ by thought and action, or by action. Allowed: step, action. Default: action.
    - rollouts: simulated ends per node. Allowed: 1 or more. Default: 1.
    - window: simulations under way in one tree. Allowed: 1 to 65535. Default: 1.
    - solve: do not select solved nodes again. Allowed: true, false. Default: True.
    - group: trajectories per question (G). Allowed: 1 or more. Default: 8.
    - profile: scoring profile of the outcome. Allowed: squad2, hotpot, musique, flashrag, search_r1, prorag,
      reasonrag, hiprag, search_o1, decouple. Default: hotpot.
    - annotate: what `expand` adds to a finished tree. Allowed: none, judge, prm, both, cold_start. Default: judge.
    - compare: siblings judged all in one call, or every two in a call of their own. Allowed: all, pairs. Default:
      all.
    - judge_visits: visits that a node needs before its children are compared. Allowed: 1 or more. Default: 3.
    - judge_sees_stats: the judge sees values and visits (reveals outcomes). Allowed: true, false. Default: False.
    - rft_threshold: process reward above which a step becomes refinement data. Allowed: a number. Default: 0.
    - chain: which correct path becomes sft.jsonl. Allowed: best, most, least, random. Default: best.
    - mark_weight: weight of control marks in rows of steps (lambda of Eq. 1), 0 = 5, 3, 2 and 1 as in the published
      code. Allowed: 0, or above 1. Default: 0.
    - rewards: what steps and outcomes are worth in a group: by Eq. 5 and 6, or by the published code. Allowed: paper,
      code. Default: paper.
    - nu_step: bonus of a step that keeps the schema. Allowed: a number. Default: 1.
    - nu_outcome: bonus of a trajectory that keeps the schema. Allowed: a number. Default: 1.
    - beta: weight of the process advantage. Allowed: 0 or more. Default: 0.3.
    - normalise: process rewards over a group's steps, or over their tokens. Allowed: step, token. Default: step.
    - guide: who chooses the steps of `answer`: the policy, or process rewards. Allowed: none, best_of_n, beam.
      Default: none.
    - best_of: paths of best_of_n. Allowed: 1 or more. Default: 8.
    - beam: states kept at each depth. Allowed: 1 or more. Default: 2.
    - sampling: options of single purposes, {purpose: {option: value}}.
    - preset: the values of the paper, or of its code.
    - answer: the inference form, which sees no gold answer, in place of growing trees.
    - prompts: a folder of prompts to use in place of the built-in ones.
    - models: other models for single purposes, {purpose: model}.
    - encoder: embeds texts, for choices by embedding.

    The purposes are step, rollout, forced_answer, judge, process_reward, cold_start.
    """

    _name = "prorag"

    def __init__(
        self,
        *,
        documents: int | None = None,
        dedup: Literal["exact", "normalised"] | None = None,
        reward: Literal["f1", "em", "acc", "agreement"] | RewardLike | None = None,
        resample: int | None = None,
        repair: bool | None = None,
        protocol: Literal["tags", "tools"] | None = None,
        constrain: Literal["off", "on", "draft"] | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        max_tokens_total: int | None = None,
        max_seconds: float | None = None,
        max_usd: float | None = None,
        match_budget: bool | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
        shots: int | None = None,
        grow: Literal["search", "group", "none"] | None = None,
        simulations: int | None = None,
        samples: int | None = None,
        c: float | None = None,
        puct_visits: Literal["parent", "children"] | None = None,
        gamma: float | None = None,
        discount: Literal["from_end", "per_edge"] | None = None,
        max_depth: int | None = None,
        answer_depth: int | None = None,
        force_answer: bool | None = None,
        expand: Literal["all", "one"] | None = None,
        prior: Literal["given", "uniform", "counts", "mean_logprob", "sum_logprob"] | None = None,
        tau: float | None = None,
        simulate: Literal["first", "random"] | None = None,
        distinct: Literal["step", "action"] | None = None,
        rollouts: int | None = None,
        window: int | None = None,
        solve: bool | None = None,
        group: int | None = None,
        profile: Literal[
            "squad2",
            "hotpot",
            "musique",
            "flashrag",
            "search_r1",
            "prorag",
            "reasonrag",
            "hiprag",
            "search_o1",
            "decouple",
        ]
        | None = None,
        annotate: Literal["none", "judge", "prm", "both", "cold_start"] | None = None,
        compare: Literal["all", "pairs"] | None = None,
        judge_visits: int | None = None,
        judge_sees_stats: bool | None = None,
        rft_threshold: float | None = None,
        chain: Literal["best", "most", "least", "random"] | None = None,
        mark_weight: float | None = None,
        rewards: Literal["paper", "code"] | None = None,
        nu_step: float | None = None,
        nu_outcome: float | None = None,
        beta: float | None = None,
        normalise: Literal["step", "token"] | None = None,
        guide: Literal["none", "best_of_n", "beam"] | None = None,
        best_of: int | None = None,
        beam: int | None = None,
        sampling: Mapping[str, Mapping[str, float]] | None = None,
        preset: Literal["paper", "code"] | None = None,
        answer: bool = False,
        prompts: str = "",
        models: Mapping[str, LanguageModelLike] | None = None,
        encoder: EncoderLike | None = None,
    ) -> None:
        self._begin(locals())


class ReasonRag(TypedMethod):
    """ReasonRAG: tree search with shortest-path rewards.

    An option that is not given has the default, or the preset's value.

    - documents: passages per search. Allowed: 1 or more. Default: 3.
    - dedup: what makes two samples equal. Allowed: exact, normalised. Default: normalised.
    - reward: what an answer is worth where trees are grown. Allowed: f1, em, acc, agreement. Default: f1.
    - resample: new samples for a reply that cannot be read. Allowed: 0 or more. Default: 2.
    - repair: ask the model once to fix a reply that cannot be read, before it is drawn again. Allowed: true, false.
      Default: False.
    - protocol: how replies name their action: tags in the text, or tools of the chat API. Allowed: tags, tools.
      Default: tags.
    - constrain: whether replies of every purpose follow their grammar. Allowed: off, on, draft. Default: off.
    - temperature: sampling temperature, 0 = greedy. Allowed: 0 or more. Default: 1.
    - top_p: sample from the likeliest tokens that have this share of the probability. Allowed: above 0, up to 1.
      Default: 1.
    - top_k: sample from so many of the likeliest tokens, 0 = all. Allowed: 0 or more. Default: 0.
    - max_tokens: most tokens of a reply. Allowed: 1 or more. Default: 512.
    - max_calls: budget per question in completions, 0 = none. Allowed: 0 or more. Default: 0.
    - max_tokens_total: budget per question in input + output tokens, 0 = none. Allowed: 0 or more. Default: 0.
    - max_seconds: budget per question in seconds, 0 = none. Allowed: 0 or more. Default: 0.
    - max_usd: budget per question in money at the prices below, 0 = none. Allowed: 0 or more. Default: 0.
    - match_budget: answer again until the budget is spent, and let the majority decide. Allowed: true, false.
      Default: False.
    - price_in: price per million input tokens. Allowed: 0 or more. Default: 0.
    - price_out: price per million output tokens. Allowed: 0 or more. Default: 0.
    - shots: worked examples before the question. Allowed: 0 to 2. Default: 0.
    - simulations: simulations per tree. Allowed: 1 or more. Default: 64.
    - children: samples per node. Allowed: 1 to 255. Default: 2.
    - c: exploration weight of UCT. Allowed: 0 or more. Default: 1.4142135623730951.
    - max_rounds: retrievals on one path, then the answer is forced. Allowed: 1 or more. Default: 7.
    - last_word: after the last retrieval of a search a reasoning is free, and only below its query the answer is
      forced. Allowed: true, false. Default: False.
    - answer_rounds: retrievals of `answer`, then the answer is forced. Allowed: 1 or more. Default: 7.
    - window: simulations under way in one tree. Allowed: 1 to 65535. Default: 1.
    - value: what a state is worth: a judge's score given the gold answer, or rollouts. Allowed: judge, rollouts.
      Default: judge.
    - n: rollouts per state. Allowed: 1 or more. Default: 1.
    - decay: what each step leaves of a terminal reward during the search. Allowed: above 0, up to 1. Default: 0.95.
    - alpha: what each step leaves of an answer's F1 in preference pairs. Allowed: above 0, up to 1. Default: 0.9.
    - leaves: leaves with a reward in preference pairs: with an answer, with an answer that was not forced, or all by
      their own value. Allowed: answers, free, all. Default: answers.
    - profile: scoring profile of F1 in preference pairs. Allowed: squad2, hotpot, musique, flashrag, search_r1,
      prorag, reasonrag, hiprag, search_o1, decouple. Default: hotpot.
    - margin: least difference of two rewards that make a preference pair. Allowed: 0 or more. Default: 0.01.
    - sampling: options of single purposes, {purpose: {option: value}}.
    - preset: the values of the paper, or of its code.
    - answer: the inference form, which sees no gold answer, in place of growing trees.
    - prompts: a folder of prompts to use in place of the built-in ones.
    - models: other models for single purposes, {purpose: model}.
    - encoder: embeds texts, for choices by embedding.

    The purposes are begin_reasoning, reasoning, evidence, forced_answer, judge.
    """

    _name = "reasonrag"

    def __init__(
        self,
        *,
        documents: int | None = None,
        dedup: Literal["exact", "normalised"] | None = None,
        reward: Literal["f1", "em", "acc", "agreement"] | RewardLike | None = None,
        resample: int | None = None,
        repair: bool | None = None,
        protocol: Literal["tags", "tools"] | None = None,
        constrain: Literal["off", "on", "draft"] | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        max_tokens_total: int | None = None,
        max_seconds: float | None = None,
        max_usd: float | None = None,
        match_budget: bool | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
        shots: int | None = None,
        simulations: int | None = None,
        children: int | None = None,
        c: float | None = None,
        max_rounds: int | None = None,
        last_word: bool | None = None,
        answer_rounds: int | None = None,
        window: int | None = None,
        value: Literal["judge", "rollouts"] | None = None,
        n: int | None = None,
        decay: float | None = None,
        alpha: float | None = None,
        leaves: Literal["answers", "free", "all"] | None = None,
        profile: Literal[
            "squad2",
            "hotpot",
            "musique",
            "flashrag",
            "search_r1",
            "prorag",
            "reasonrag",
            "hiprag",
            "search_o1",
            "decouple",
        ]
        | None = None,
        margin: float | None = None,
        sampling: Mapping[str, Mapping[str, float]] | None = None,
        preset: Literal["paper", "code"] | None = None,
        answer: bool = False,
        prompts: str = "",
        models: Mapping[str, LanguageModelLike] | None = None,
        encoder: EncoderLike | None = None,
    ) -> None:
        self._begin(locals())
