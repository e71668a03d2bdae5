"""Runs for the report's tests: a recorded one of the simulated model, and what is made of it."""

import copy
import functools
import json
import random
import tempfile
from pathlib import Path

import espalier

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>--> ]]> <!-- "
    "\u2028\u2029 \"quoted\" 'too' &amp; \0\x1b \u202eabc\u202c"
)
OPEN = {"answer": None, "status": "open", "error": "the server did not answer within 600 seconds (503)"}


OTHER = 30
"""A seed under which the second, third and eighth question are answered otherwise."""


@functools.cache
def recorded(seed):
    """Trees, answers, summary and pairs of twelve questions, which are the same for every seed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        espalier.write_world(folder, passages=300, questions=12, seed=5)
        files = {name: folder / f"{name}.jsonl" for name in ("questions", "corpus")}
        espalier.expand(**files, out=folder / "run", method="decex", model="simulated", seed=seed)
        trees, answers, pairs = (
            [json.loads(line) for line in (folder / f"run/{name}.jsonl").read_text(encoding="utf-8").splitlines()]
            for name in ("trees", "answers", "dpo")
        )
        return trees, answers, json.loads((folder / "run/summary.json").read_text(encoding="utf-8")), pairs


def run(questions=12, seed=1, opened=1):
    """The first questions of a run, the last of which were left open, and the sixth ended by its budget."""
    trees, answers, summary, pairs = copy.deepcopy(recorded(seed))
    trees, answers = trees[: questions - opened], answers[:questions]
    for row in answers[questions - opened :]:
        row |= dict.fromkeys(("em", "f1", "acc")) | OPEN
    for row in (*trees[5:6], *answers[5:6]):
        row["status"] = "budget"
    known = {tree["id"] for tree in trees}
    return trees, answers, summary, [pair for pair in pairs if pair["provenance"]["tree"] in known]


def hostile(value):
    """The same record with the hostile text at the end of every text and of every name that a run may choose."""
    if isinstance(value, dict):
        return {
            name: item if name in ("status", "kind", "reason", "id", "tree") else hostile(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [hostile(item) for item in value]
    return value + HOSTILE if isinstance(value, str) else value


def large(count, seed=1):
    """A run of one question whose tree has so many nodes."""
    trees, answers, about, _ = run(1, opened=0)
    chance = random.Random(seed)
    root, *_, last = trees[0]["nodes"]
    made = [root]
    for number in range(1, count):
        parent = max(0, number - 1 - int(chance.expovariate(1 / 60)))
        cut = {"status": "pruned", "reason": "not_best"} if number % 5 == 0 else {"status": "expanded"}
        value = round(chance.random(), 4)
        own = {"id": number, "parent": parent, "text": f"step {number}", "kind": "query", "visits": 1 + number % 7}
        made.append(last | own | {"value": value, "reward": value} | cut)
    trees[0] |= {"nodes": made, "rollouts": [], "skips": []}
    return trees, answers, about


def hostile_run():
    """Every text is hostile, the questions' ids too."""
    trees, answers, summary, rows = (hostile(part) for part in run(3))
    for row in (*trees, *answers):
        row["id"] += HOSTILE
    for row in rows:
        row["provenance"]["tree"] += HOSTILE
    return trees, answers, summary, rows


def long_run():
    """A tree whose texts are a megabyte each."""
    trees, answers, summary, pairs = run(1, opened=0)
    endless = " ".join(f"word{number}" for number in range(110_000))
    assert len(endless) > 1_000_000
    answers[0] |= {"question": endless, "answer": endless}
    trees[0]["question"] = endless
    for node in trees[0]["nodes"][1:4]:
        node |= {"text": f"{node['id']} {endless}", "thought": endless}
    for passage in trees[0]["documents"].values():
        passage["text"] = endless + " " + trees[0]["golden_answers"][0]
    return trees, answers, summary, pairs


def write(folder, trees, answers, summary, pairs=()):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("trees.jsonl", trees), ("answers.jsonl", answers), ("dpo.jsonl", pairs)):
        lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
        (folder / name).write_text(lines, encoding="utf-8", newline="\n")
    (folder / "summary.json").write_text(json.dumps(summary, ensure_ascii=False), encoding="utf-8")
