"""A recorded run written by hand, a row or two of every product, with texts that try to break out."""

import json
from pathlib import Path
from typing import Any

from conftest import rows
from espalier.export import export

HOSTILE = 'He said "no"\r\n\u2028{"id": 1}\x00\t</s> &lt;answer> ки? 🙂'

PROMPT = f"Q: {HOSTILE}\n"
SFT = {"id": "q1#0", "prompt": PROMPT, "completion": f"<answer> {HOSTILE} </answer>", "loss_spans": [[0, 1]]}
SFT["provenance"] = {"tree": "q1", "nodes": [1, 4], "method": "decex"}
STEP = {"id": "q1#7", "history": "Q\n", "completion": "<a> x </a>", "provenance": {"tree": "q1", "node": 7}}
STEP["weights"] = [[0, 3, 5], [3, 6, 1], [6, 10, 5]]
CHAT = {
    "id": "q1#9",
    "messages": [
        {"role": "system", "content": "Solve."},
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "Hm.\nSearch(x)", "q_value_thought": 0.5, "value_at": 3},
        {"role": "function", "content": "Doc 1", "q_value_search": -0.25, "value_at": 5},
        {"role": "assistant", "content": "So.\nFinish(y)", "q_value_thought": 1, "value_at": 3},
    ],
    "correct": True,
    "policy_loss": False,
    "provenance": {"tree": "q1", "nodes": [0, 3, 9]},
}
PAIR = {"id": "q1#1>2", "prompt": PROMPT + "<think> Hm", "chosen": " </think>\n<answer> a </answer>"}
PAIR["rejected"] = f" {HOSTILE}"
PAIR["provenance"] = {"tree": "q1", "chosen_node": 1, "rejected_node": 2, "margin": 0.25, "method": "decex"}
JUDGED = {"id": "q1#5>6", "input": {"question": "Who?", "history": "(nothing yet)\n"}, "chosen": {"new_step": "good"}}
JUDGED |= {"rejected": {"new_step": "bad"}, "provenance": {"tree": "q1", "node": 5}}
JUDGED["label"] = {"reason": "", "chosen_reward": 0.75, "rejected_reward": -0.25}
SCORED = {"id": "q1#8", "question": "Who?", "provenance": {"tree": "q1", "node": 8}}
SCORED["steps"] = [
    {"segments": [{"kind": "query", "text": "x"}, {"kind": "sub_answer", "text": "y"}], "score": 0.75},
    {"segments": [{"kind": "answer", "text": "z"}], "score": 0.25},
]
ROLLOUT = {"id": "q1#0", "prompt": "P\n", "response": "é one\n<doc>\ntwo\n", "provenance": {"tree": "q1", "node": 3}}
ROLLOUT["steps"] = [{"span": [0, 5], "process_reward": 0.5}, {"span": [12, 15], "process_reward": -0.5}]
TREES = [
    {"id": "q1", "question": HOSTILE, "golden_answers": ["a", HOSTILE]},
    {"id": "q2", "question": "Where?", "golden_answers": ["b"]},
]
RUN = {
    "version": "0.1.0", "identity": "i", "method": "decex", "seed": 1, "inputs": {"questions": "h1", "corpus": "h2"},
    "model": {"name": "<script>|`x`", "revision": ""}, "retriever": {"kind": "bm25"}, "options": {"k": 3},
}  # fmt: skip
SUMMARY = {"simulated": True, "oracle": True, "questions": 2, "done": 2}


def write_run(folder: Path, **products: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps(RUN))
    (folder / "summary.json").write_text(json.dumps(SUMMARY))
    for name, lines in ({"trees": TREES} | products).items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    return folder


def said(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def exported(run: Path, format: str, **options: Any) -> Any:
    """The rows of an export, or the only one."""
    [file] = export(run, format, out=run / "out", **options)
    if file.path.suffix == ".parquet":
        import pyarrow.parquet as pq

        found = pq.read_table(file.path).to_pylist()
    else:
        found = json.loads(file.path.read_text("utf-8")) if file.path.suffix == ".json" else rows(file.path)
    assert file.rows == len(found)
    return found[0] if len(found) == 1 else found
