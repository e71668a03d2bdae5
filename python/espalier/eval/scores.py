"""What each answer of a run is worth and what it cost: one row per question, whatever became of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import _core
from .._core import Question
from ..errors import InputError
from ..io.fields import Fields
from ..io.rows import read_rows as rows_of

Row = dict[str, Any]
METRICS = ("em", "f1", "acc")
FOUND = ("title_recall", "title_f1", "answer_recall")
COSTS = ("calls", "prompt_tokens", "completion_tokens", "tokens", "retrievals", "seconds", "usd")

OWN_PROFILES = {
    **dict.fromkeys(("direct", "cot", "standard-rag", "iter-retgen", "ircot", "flare", "self-ask"), "flashrag"),
    **dict.fromkeys(("self-rag", "adaptive-rag", "airrag", "airrag-lite", "airrag-blender"), "flashrag"),
    **{"decouple": "decouple", "greedy-agent": "decouple", "hiprag": "hiprag", "prorag": "prorag", "ikea": "search_r1"},
    **{"reasonrag": "reasonrag", "ragent": "search_o1", "search-o1": "search_o1", "search-r1": "search_r1"},
}


def own_profile(method: str) -> str:
    """The profile of the method's paper, or of the toolkit that is cited for it. Else the common profile."""
    return OWN_PROFILES.get(method, "common")


def read_rows(file: Path) -> Iterator[Row]:
    """The rows of a file of a run. Raises InputError, also for an answer without its id, question or status."""
    try:
        for row in rows_of(file):
            if file.name == "answers.jsonl":
                known = Fields(row.where, {"answer": "", **{k: v for k, v in row.fields.items() if v is not None}})
                _ = [known.text(name) for name in ("id", "question", "answer", "status")]
            yield {"answer": None, **row.fields}
    except FileNotFoundError:
        raise InputError(f"{file}: there is no finished run in this folder") from None


def scores_of(answer: str | None, gold: Sequence[str], profiles: Sequence[str]) -> dict[str, dict[str, float]]:
    """em, f1 and acc under each profile, 0 without an answer."""
    scored = {profile: _core.score(profile, answer, gold) for profile in profiles}
    return {profile: {metric: values[metric] for metric in METRICS} for profile, values in scored.items()}


def retrieval_scores(question: Question, documents: Sequence[tuple[str, str]]) -> Row:
    """How much of what was to be found stands in the documents (title, text) that a search saw.

    Titles are compared, and answers looked for, in the common normal form. The scores of titles are None for a question
    without supporting titles.
    """
    wanted = list(dict.fromkeys(question.supporting_titles))
    titles = list(dict.fromkeys(title for title, _ in documents))
    seen = sum(any(_core.score("common", title, [want])["em"] for title in titles) for want in wanted)
    return {
        "title_recall": seen / len(wanted) if wanted else None,
        "title_f1": 2 * seen / (len(titles) + len(wanted)) if wanted else None,
        "answer_recall": max(
            (_core.score("common", f"{title}\n{text}", question.gold)["acc"] for title, text in documents), default=0.0
        ),
    }


def cost_of(answer: Row, seconds: float | None, price: tuple[float, float] | None) -> Row:
    """The question's cost as its search counts it, None while it is open."""
    inputs, outputs = answer["prompt_tokens"], answer["completion_tokens"]
    return {
        "calls": answer["completions"],
        "prompt_tokens": inputs,
        "completion_tokens": outputs,
        "tokens": None if inputs is None else inputs + outputs,
        "retrievals": answer["retrievals"],
        "seconds": seconds,
        "usd": (price[0] * inputs + price[1] * outputs) / 1e6 if price and inputs is not None else None,
    }


def score_run(folder: Path, questions: Sequence[Question], price: tuple[float, float] | None = None) -> list[Row]:
    """The rows of a run over these questions, in their order. Raises InputError if it is a run over others."""
    profiles = ["common", *_core.metric_profiles()]
    answers, trees = list(read_rows(folder / "answers.jsonl")), read_rows(folder / "trees.jsonl")
    seconds = [row["seconds"] for row in read_rows(folder / "costs.jsonl")]
    if [row["id"] for row in answers] != [question.id for question in questions]:
        raise InputError(f"{folder / 'answers.jsonl'}: holds answers to other questions")
    rows = []
    for question, answer, took in zip(questions, answers, seconds, strict=True):
        tree = next(trees) if answer["status"] != "open" else {"documents": {}}  # what is open has no tree
        documents = [(document["title"], document["text"]) for document in tree["documents"].values()]
        scores = scores_of(answer["answer"], question.gold, profiles)
        rows.append(
            {
                "id": question.id,
                "hops": question.hops,
                "answer": answer["answer"],
                "status": answer["status"],
                **scores["common"],
                **retrieval_scores(question, documents),
                **cost_of(answer, took, price),
                "profiles": scores,
            }
        )
    return rows
