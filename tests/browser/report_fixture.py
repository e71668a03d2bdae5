"""Made-up runs for the report's tests: trees.jsonl, answers.jsonl and summary.json of any size.

python3 tests/browser/report_fixture.py FOLDER [questions] writes one to look at.
"""

import json
import random
import sys
from pathlib import Path

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>--> ]]> <!-- "
    "\u2028\u2029 \"quoted\" 'too' &amp; \0\x1b \u202eabc\u202c"
)
PLACES = ["Verrin", "Oskalda", "Tamber Bay", "Lower Quist", "Port Halloran", "Eastmere", "Cold Anselm", "Brackwater"]
PEOPLE = ["Ilse Marrow", "Teodor Venn", "Anneke Solberg", "Piet Calloway", "Maren Ostrander", "Josua Fell"]


def document(chance, number):
    place, person = chance.choice(PLACES), chance.choice(PEOPLE)
    text = (
        f"{person} was born in {place}, where the family kept a printing house by the river. The town is the seat of "
        f"its county and lies {chance.randint(3, 90)} kilometres from {chance.choice(PLACES)}. A small museum keeps "
        f"the oldest maps of the coast, among them those that {person} drew before the harbour was moved."
    )
    return f"d{number}", {"title": chance.choice([place, person]), "text": text}


def tree(index, chance, rounds=3, k=3, n=4):
    """A tree as the pruned search grows it, and its row of answers.jsonl."""
    gold = chance.choice(PLACES)
    documents = dict(document(chance, number) for number in range(12))
    nodes, rollouts, skips = [], [], []

    def hits():
        return [{"id": name, "score": round(chance.uniform(3, 18), 4)} for name in chance.sample(sorted(documents), 3)]

    def add(parent, kind=None, text="", status="expanded", reason=None, value=None, **more):
        node = {"id": len(nodes), "parent": parent}
        if kind:
            node |= {"kind": kind, "text": text, "thought": more.pop("thought", ""), "key": text.lower()} | more
        node |= {
            "visits": 0 if value is None else n,
            "value": value or 0,
            "total": n * (value or 0),
            "reward": value,
            "prior": round(chance.choice([1 / 3, 2 / 3, 1]), 6),
            "evaluated": value is not None,
            "status": status,
        }
        if reason:
            node["reason"] = reason
        nodes.append(node)
        for _ in range(n if value is not None else 0):
            answer = gold if chance.random() < value else chance.choice([*PLACES, None])
            steps = [
                {"thought": "The passage about the printing house should say where."},
                {"query": f"birthplace of {chance.choice(PEOPLE)}"},
                {"documents": hits()},
                {"answer": answer or ""},
            ]
            rollouts.append(
                {
                    "node": node["id"],
                    "reward": float(answer == gold),
                    "answer": answer,
                    "steps": steps if kind != "answer" else [],
                }
            )
        return node["id"]

    at = add(None)
    right = chance.random() < 0.6
    for depth in range(rounds):
        person = chance.choice(PEOPLE)
        thought = (
            f"The question hides a person. First I need to know who {person} is and only then where the family lived."
        )
        values = sorted((round(chance.random(), 4) for _ in range(k)), reverse=True)
        best = add(
            at,
            "sub_question",
            f"In which town was {person} born, before the family moved to {chance.choice(PLACES)}?",
            value=values[0],
            thought=thought,
        )
        if depth:
            add(at, "answer", chance.choice(PLACES), "pruned", "outvoted", thought="I think this is enough.")
        for value in values[1:]:
            add(at, "sub_question", f"Who drew the maps of {chance.choice(PLACES)}?", "pruned", "not_best", value)
        if chance.random() < 0.4:
            at = add(best, "own_answer", chance.choice(PLACES), value=0.75, thought="I remember this one.")
            skips.append({"node": best, "kind": "query"})
        else:
            add(best, "own_answer", chance.choice(PLACES), "pruned", "below_threshold", 0.25)
            add(best, "own_answer", "", "pruned", "malformed")
            for rank, value in enumerate(sorted((round(chance.random(), 4) for _ in range(2)), reverse=True)):
                made = add(
                    best,
                    "query",
                    f"{person} born town printing house",
                    "expanded" if rank == 0 else "pruned",
                    "not_best" if rank else None,
                    value,
                    documents=hits(),
                )
                at = made if rank == 0 else at
    answer = gold if right else "Nowhere in particular"
    add(at, "answer", answer, "terminal", value=float(right), forced=index % 3 == 0, thought="All parts are known now.")
    add(at, "answer", "A river", "pruned", "not_best", 0.0)
    costs = {
        purpose: {
            "completions": chance.randint(1, 90),
            "prompt_tokens": chance.randint(500, 90000),
            "completion_tokens": chance.randint(50, 5000),
            "retrievals": chance.randint(0, 40),
        }
        for purpose in ("own_answer", "rollout", "sub_query", "sub_question", "termination")
    }
    place = chance.choice(PLACES)
    question = (
        f"In which town was the printer born whose family drew the maps of {place}, before the harbour was moved?"
    )
    record = {
        "id": f"toy_{index}",
        "question": question,
        "golden_answers": [gold, f"{gold} (town)"],
        "method": "decex",
        "status": "budget" if index % 17 == 5 else "done",
        "seed": 1,
        "options": {"k": k, "n": n, "T_max": 4, "threshold": 0.6, "search": "pruned"},
        "documents": documents,
        "nodes": nodes,
        "rollouts": rollouts,
        "skips": skips,
        "costs": costs,
    }
    total = {
        name: sum(cost[name] for cost in costs.values())
        for name in ("completions", "prompt_tokens", "completion_tokens", "retrievals")
    }
    score = {
        "em": float(right),
        "f1": 1.0 if right else round(chance.choice([0, 0, 0.4, 0.67]), 3),
        "acc": float(right),
    }
    return record, {
        "id": record["id"],
        "question": question,
        "answer": answer,
        "status": record["status"],
        "error": None,
    } | score | total


def open_row(index):
    return {
        "id": f"toy_{index}",
        "question": "Which of the two bridges at Verrin is older?",
        "answer": None,
        "status": "open",
        "error": "the server did not answer within 600 seconds (503)",
        "em": None,
        "f1": None,
        "acc": None,
        "completions": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "retrievals": 0,
    }


def summary(trees, answers):
    reasons = ("outvoted", "below_threshold", "not_best", "skipped", "malformed", "budget", "refused")
    pruned = {
        reason: sum(node.get("reason") == reason for tree in trees for node in tree["nodes"]) for reason in reasons
    }
    pruned["skipped"] += sum(len(tree["skips"]) for tree in trees)
    names = {
        "calls": "completions",
        "prompt_tokens": "prompt_tokens",
        "completion_tokens": "completion_tokens",
        "retrievals": "retrievals",
    }
    purposes = sorted({purpose for tree in trees for purpose in tree["costs"]})
    by_purpose = {
        purpose: {name: sum(tree["costs"][purpose][key] for tree in trees) for name, key in names.items()}
        for purpose in purposes
    }
    statuses = {
        status: sum(row["status"] == status for row in answers) for status in ("done", "budget", "open", "failed")
    }
    means = {name: sum(row[name] or 0 for row in answers) / len(answers) for name in ("em", "f1", "acc")}
    return {
        "method": "decex",
        "model": "simulated",
        "simulated": True,
        "retriever": "bm25",
        "oracle": True,
        "questions": len(answers),
        **statuses,
        "null_predictions": 0,
        **means,
        **{name: sum(row[key] for row in answers) for name, key in names.items()},
        "nodes": sum(len(tree["nodes"]) for tree in trees),
        "by_purpose": by_purpose,
        "pruned": pruned,
        "seconds": 12.345,
    }


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


def run(questions=12, seed=1, rounds=3, opened=1):
    """Trees, answers and the summary of a run whose last questions were left open."""
    chance = random.Random(seed)
    pairs = [tree(index, chance, rounds) for index in range(questions - opened)]
    trees, answers = (
        [pair[0] for pair in pairs],
        [pair[1] for pair in pairs] + [open_row(questions - 1 - i) for i in range(opened)],
    )
    return trees, answers, summary(trees, answers)


def pairs(trees):
    """The best child of each node over each other one that has a value."""
    rows = []
    for record in trees:
        children = {}
        for node in record["nodes"][1:]:
            if node["reward"] is not None:
                children.setdefault(node["parent"], []).append(node)
        for parent, nodes in children.items():
            best, *worse = sorted(nodes, key=lambda node: (-node["reward"], node["id"]))
            rows += [
                {
                    "id": f"{record['id']}#{best['id']}>{node['id']}",
                    "type": "execution",
                    "prompt": f"Question: {record['question']}\nThe gold answer is {record['golden_answers'][0]}.",
                    "chosen": best["text"],
                    "rejected": node["text"],
                    "provenance": {
                        "tree": record["id"],
                        "parent": parent,
                        "chosen_node": best["id"],
                        "rejected_node": node["id"],
                        "chosen_reward": best["reward"],
                        "rejected_reward": node["reward"],
                        "margin": best["reward"] - node["reward"],
                    },
                }
                for node in worse
            ]
    return rows


def large(count, seed=1):
    """A run of one question whose tree has so many nodes."""
    trees, answers, about = run(1, seed, opened=0)
    chance = random.Random(seed)
    root, *_, last = trees[0]["nodes"]
    made = [root]
    for number in range(1, count):
        parent = max(0, number - 1 - int(chance.expovariate(1 / 60)))
        cut = {"status": "pruned", "reason": "not_best"} if number % 5 == 0 else {"status": "expanded"}
        value = round(chance.random(), 4)
        made.append(
            last
            | {"id": number, "parent": parent, "text": f"step {number}", "kind": "query", "visits": 1 + number % 7}
            | {"value": value, "reward": value}
            | cut
        )
    trees[0] |= {"nodes": made, "rollouts": [], "skips": []}
    return trees, answers, about


def hostile_run():
    """Every text is hostile, the questions' ids too."""
    trees, answers, summary = (hostile(part) for part in run(3))
    rows = hostile(pairs(run(3)[0]))
    for row in (*trees, *answers):
        row["id"] += HOSTILE
    for row in rows:
        row["provenance"]["tree"] += HOSTILE
    return trees, answers, summary, rows


def long_run():
    """A tree whose texts are a megabyte each."""
    trees, answers, summary = run(1, opened=0)
    endless = " ".join(f"word{number}" for number in range(110_000))
    assert len(endless) > 1_000_000
    answers[0] |= {"question": endless, "answer": endless}
    trees[0]["question"] = endless
    for node in trees[0]["nodes"][1:4]:
        node |= {"text": f"{node['id']} {endless}", "thought": endless}
    for passage in trees[0]["documents"].values():
        passage["text"] = endless + " " + trees[0]["golden_answers"][0]
    return trees, answers, summary, pairs(trees)


def write(folder, trees, answers, summary, pairs=()):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("trees.jsonl", trees), ("answers.jsonl", answers), ("dpo.jsonl", pairs)):
        lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
        (folder / name).write_text(lines, encoding="utf-8", newline="\n")
    (folder / "summary.json").write_text(json.dumps(summary, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *run(int(sys.argv[2]) if len(sys.argv) > 2 else 12))
