"""Which of many candidates becomes the answer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from espalier.eval import score

from .frame import Claim
from .search import Search, lines
from .verdict import Comparison, more

ENCODER = "Embeddings are counts of letters"
CANDIDATES = {"rollouts": 8, "n_say": 3, "n_qt": 3, "q_div": True}


def letters(requests: Sequence[Any]) -> list[list[float]]:
    """An encoder without a model: counts of three letters in a row, hashed into 256 places, of length 1."""
    rows = []
    for request in requests:
        text, row = f"  {request.text.lower()} ", np.zeros(256)
        for i in range(len(text) - 2):
            row[sum(ord(letter) * 31**j for j, letter in enumerate(text[i : i + 3])) % 256] += 1
        rows.append((row / max(1e-9, float(np.linalg.norm(row)))).tolist())
    return rows


def average(run: Path, questions: Path) -> list[dict[str, float]]:
    """The mean EM of a question's candidates, 0 without any."""
    golds = {row["id"]: row["golden_answers"] for row in lines(questions)}
    rows = []
    for tree in map(json.loads, (run / "trees.jsonl").open(encoding="utf-8")):
        ranks = tree["annotations"].get("candidate", [])
        texts = [node["text"] for node, rank in zip(tree["nodes"], ranks, strict=False) if rank is not None]
        found = [score("common", text, golds[tree["id"]])["em"] for text in texts]
        rows.append({"average": sum(found) / max(1, len(found))})
    return rows


def choice(select: str, **settings: Any) -> Search:
    return Search("airrag", CANDIDATES | {"choice": select}, settings=settings, more=average)


def chance(arm: str) -> Comparison:
    """The choice is better than a candidate drawn by chance."""
    return Comparison(f"em: {arm} - average of its candidates", lambda rows: rows[arm]["em"] - rows[arm]["average"])


CHOICES = {
    "summary": choice("refine"),
    "reward_model": choice("reward_model"),
    "words": choice("jaccard"),
    "embeddings": choice("embedding", encoder=letters, encoder_name="letters"),
}
FIGURES = ("em", "average", "calls")
SOURCE = "AirRAG, Fig. 5"

SUMMARY = Claim(
    "A summary of all candidates chooses better than their agreement",
    SOURCE,
    {name: CHOICES[name] for name in ("summary", "words", "embeddings")},
    [more("em", "summary", "words"), more("em", "summary", "embeddings")],
    FIGURES,
    remark=ENCODER,
    equal="the simulated model sums up by the most frequent candidate, which is what agreement chooses",
)
REWARD = Claim(
    "A reward model chooses better than agreement, and than a summary",
    SOURCE,
    CHOICES,
    [more("em", "reward_model", name) for name in ("words", "embeddings", "summary")],
    FIGURES,
    remark=f"the simulated judge (skill 0.85) stands for the reward model. {ENCODER}",
)
AGREEMENT = Claim(
    "Agreement, by words or embeddings, chooses better than chance",
    SOURCE,
    {name: CHOICES[name] for name in ("words", "embeddings")},
    [chance("words"), chance("embeddings")],
    FIGURES,
    remark=f"average = the mean of all candidates. {ENCODER}",
)
