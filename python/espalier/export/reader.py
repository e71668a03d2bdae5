"""Reads the training rows of a recorded run."""

from collections.abc import Callable, Iterator
from pathlib import Path

from ..io.fields import Fields
from ..io.rows import read_rows
from .records import Asked, Dialogue, Message, Origin, Pair, Record, Steps


def span(row: Fields, name: str, text: str) -> tuple[int, int]:
    """[begin, end) within a text."""
    match row.data.get(name):
        case [int(begin), int(end), *_] if 0 <= begin <= end <= len(text):
            return begin, end
    raise row.wrong(name, f"should be [begin, end] within a text of {len(text)} code points")


def weights(row: Fields, name: str, text: str) -> tuple[tuple[int, int, float], ...]:
    found, at = [], 0
    for item in row.items(name):
        match item:
            case [int(begin), int(end), int() | float() as weight] if at <= begin <= end <= len(text) and weight >= 0:
                found.append((begin, end, float(weight)))
                at = end
            case _:
                raise row.wrong(name, f"should hold [begin, end, weight] in order within {len(text)} code points")
    return tuple(found)


def origin(row: Fields, *nodes: str) -> Origin:
    """The row's, whose nodes stand in these fields of its provenance, or in its list `nodes`."""
    provenance = row.row("provenance")
    numbers = tuple(map(provenance.whole, nodes)) if nodes else provenance.wholes("nodes")
    method, purpose = (provenance.text(name) if provenance.has(name) else "" for name in ("method", "purpose"))
    return Origin(row.text("id"), provenance.text("tree"), numbers, method, purpose)


def one_turn(row: Fields, prompt: str, completion: str, *nodes: str) -> Dialogue:
    said = Message("user", row.text(prompt)), Message("assistant", row.text(completion))
    weighed = weights(row, "weights", said[1].content) if row.has("weights") else ()
    weight = row.number("weight") if row.has("weight") else 1.0
    if weight < 0:
        raise row.wrong("weight", "should be 0 or more")
    return Dialogue(origin(row, *nodes), said, weighed, weight=weight)


def conversation(row: Fields) -> Dialogue:
    messages = []
    for said in row.rows("messages"):
        role, content = said.text("role"), said.text("content")
        if role not in ("system", "user", "assistant", "function"):
            raise said.wrong("role", f"is '{role}', allowed: system, user, assistant, function")
        value = next(
            (said.maybe_number(name) for name in ("q_value_thought", "q_value_search") if said.has(name)), None
        )
        at = said.whole("value_at") if value is not None else None
        if at is not None and not 0 <= at <= len(content):
            raise said.wrong("value_at", f"should lie within a text of {len(content)} code points")
        messages.append(Message("tool" if role == "function" else role, content, value, at))
    if not messages or messages[-1].role != "assistant":
        raise row.wrong("messages", "should end with the assistant's turn")
    policy_loss = row.flag("policy_loss" if row.has("policy_loss") else "correct")
    return Dialogue(origin(row), tuple(messages), policy_loss=policy_loss)


def sft(row: Fields) -> Dialogue:
    if row.has("messages"):
        return conversation(row)
    if row.has("history"):
        return one_turn(row, "history", "completion", "node")
    return one_turn(row, "prompt", "completion")


def rft(row: Fields) -> Dialogue:
    return one_turn(row, "input", "output", "node")


def dpo(row: Fields) -> Pair:
    """DecEx-RAG's pairs may begin within the assistant's turn, inside an open thought. Texts of models and documents
    are neutralised, so only the turn itself can have opened it."""
    prompt, chosen, rejected = row.text("prompt"), row.text("chosen"), row.text("rejected")
    provenance = row.row("provenance")
    start = len(prompt)
    if provenance.text("method") == "decex" and prompt.rfind("<think>") > prompt.rfind("</think>"):
        start = prompt.rfind("<think>")
    margin = provenance.number("margin")
    kind, decision = (row.text(name) if row.has(name) else "" for name in ("type", "decision"))
    nodes = "chosen_node", "rejected_node"
    return Pair(origin(row, *nodes), prompt[:start], prompt[start:], chosen, rejected, margin, kind, decision)


def judged(row: Fields) -> Pair:
    """Two steps that a judge has compared: the prompt is the question and the steps before."""
    asked, label = row.row("input"), row.row("label")
    prompt = f"Question: {asked.text('question')}\n{asked.text('history')}"
    better, worse = label.maybe_number("chosen_reward"), label.maybe_number("rejected_reward")
    # The judge decides which is better: where the rewards say otherwise, there is no margin between the two.
    margin = None if better is None or worse is None else max(0.0, better - worse)
    chosen, rejected = row.row("chosen").text("new_step"), row.row("rejected").text("new_step")
    return Pair(origin(row, "node"), prompt, "", chosen, rejected, margin)


def scored(row: Fields) -> Steps:
    """A chain whose steps are worth the share of good chains through them."""
    steps = row.rows("steps")
    parts = tuple(tuple((part.text("kind"), part.text("text")) for part in step.rows("segments")) for step in steps)
    texts = tuple("\n".join(f"{kind}: {text}" for kind, text in step) for step in parts)
    values = tuple(step.number("score") for step in steps)
    return Steps(origin(row, "node"), row.text("question"), texts, values, 0.5, parts)


def prm(row: Fields) -> Pair | Steps:
    return scored(row) if row.has("steps") else judged(row)


def rollout(row: Fields) -> Steps:
    response = row.text("response")
    texts, values = [], []
    for step in row.rows("steps"):
        begin, end = span(step, "span", response)
        value = step.maybe_number("process_reward")
        if value is None:
            raise step.wrong("process_reward", "nobody has scored this step; `espalier annotate RUN --with prm` does")
        texts.append(response[begin:end])
        values.append(value)
    return Steps(origin(row, "node"), row.text("prompt"), tuple(texts), tuple(values), 0.0)


def asked(row: Fields) -> Asked:
    return Asked(Origin(row.text("id"), row.text("id"), ()), row.text("question"), row.texts("golden_answers"))


Reader = Callable[[Fields], Record]

PRODUCTS: dict[str, Reader] = {
    "sft": sft,
    "cold_start": sft,
    "rft": rft,
    "dpo": dpo,
    "value": conversation,
    "prm": prm,
    "rollouts": rollout,
    "trees": asked,
}
"""Files of a run, without .jsonl, and how a line of each is read."""


def read_product(run: Path, product: str, read: Reader | None = None) -> Iterator[Record]:
    """The records in a file of a run, whose lines `read` reads in place of the usual reader.

    Raises InputError, which names file, line and field."""
    read = PRODUCTS[product] if read is None else read
    ids = set()
    for row in read_rows(run / f"{product}.jsonl"):
        record = read(Fields(row.where, row.fields))
        if record.origin.id in ids:
            row.fail("id", f"'{record.origin.id}' stands twice")
        ids.add(record.origin.id)
        yield record


def why_none(run: Path) -> str:
    """Of what a run made no rows, for people."""
    answers = list(read_rows(run / "answers.jsonl")) if (run / "answers.jsonl").exists() else []
    right = sum(row.fields.get("em") == 1 for row in answers)
    answered = sum(row.fields.get("answer") is not None for row in answers)
    return (
        f"{len(answers)} questions, {answered} answered, {right} right: rows are made where an answer is right, pairs "
        "where branches differ in worth"
    )
