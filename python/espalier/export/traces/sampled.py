"""tokens.jsonl: the token ids that the model sampled for the texts of a run's trees."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ...io.fields import Fields
from ...io.rows import read_rows
from ..records import Dialogue, Sampled, Trace
from ..tokenizer import Tokenizer
from .text import CLOSING, bare

Kept = Mapping[tuple[int, int | None, int], Sampled]  # by the keys of TraceNode
REWRITTEN = "steps that were read as other text than the model wrote"
UNKNOWN = "steps whose tokens are not known"
JOINED = "rows whose turn tells the replies to several prompts in other words"


def kept_tokens(run: Path) -> Mapping[str, Kept] | None:
    """What was sampled in each tree, None = the run kept none. Raises InputError that names file, line and field."""
    found: dict[str, dict[tuple[int, int | None, int], Sampled]] = {}
    for line in read_rows(file) if (file := run / "tokens.jsonl").exists() else ():
        row = Fields(line.where, line.fields)
        rollout = None if row.data.get("rollout") is None else row.whole("rollout")
        ids, logprobs = list(row.wholes("ids")), row.items("logprobs")
        numbers = all(type(one) in (int, float) for one in logprobs)
        if not ids or min(ids) < 0 or len(logprobs) not in (0, len(ids)) or not numbers:
            raise row.wrong("ids", "should be the ids of tokens, each with its logprob")
        sampled = Sampled(ids, logprobs, row.text("purpose"))
        found.setdefault(row.text("id"), {})[row.whole("node"), rollout, row.whole("at")] = sampled
    return found if file.exists() else None


def with_tokens(trace: Trace, kept: Mapping[str, Kept] | None) -> Trace:
    """The trace with what was sampled for its steps."""
    for node in trace.nodes:
        node.tokens = kept.get(trace.origin.tree, {}).get(node.key) if kept and node.key else None
    return replace(trace, keeps_tokens=kept is not None)


def as_read(sampled: Sampled, text: str, tokenizer: Tokenizer, *, ends: bool) -> Sampled | None:
    """The tokens of a step, if they read as its text. The token that ends a turn is left out unless the turn `ends`.
    None = they read otherwise, or the step was asked for again."""
    ids, end, own = sampled.ids, len(sampled.ids), tokenizer.loaded.all_special_ids
    while end and ids[end - 1] in own and not text.endswith(tokenizer.decode(ids[end - 1 : end])):
        end -= 1
    read = (bare(tokenizer.decode(ids[:end], special=special)) for special in (True, False))  # servers differ
    if sampled.purpose.endswith(".repair") or bare(text) not in read:
        return None
    return sampled if ends else replace(sampled, ids=ids[:end], logprobs=sampled.logprobs[:end])


def missing_close(sampled: Sampled, text: str, tokenizer: Tokenizer) -> list[int]:
    """The tokens of the mark that closes a step's text, where the server kept those of stop strings to itself."""
    mark = CLOSING.search(text)
    absent = mark and not tokenizer.decode(sampled.ids).rstrip().endswith(mark[0])
    return tokenizer.encode(mark[0], special=False)[0] if mark and absent else []


def sampled_turns(dialogue: Dialogue, every: Mapping[str, Kept], tokenizer: Tokenizer) -> dict[int, list[int]] | None:
    """The ids of each assistant's turn, by its place. None = a turn is not one step's text as the model wrote it."""
    kept = every.get(dialogue.origin.tree, {})
    own = {node: one for (node, rollout, _), one in kept.items() if rollout is None}
    nodes = [node for node in dialogue.origin.nodes if node]
    said = [(place, one.content) for place, one in enumerate(dialogue.messages) if one.role == "assistant"]
    found: dict[int, list[int]] = {}
    for (place, text), node in zip(said, nodes, strict=False):
        if node in own and (tokens := as_read(own[node], text, tokenizer, ends=False)):
            found[place] = tokens.ids + missing_close(tokens, text, tokenizer)
    return found if len(found) == len(said) == len(nodes) else None
