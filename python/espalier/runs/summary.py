"""A run's summary.json: made of those of its shards, and for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import floor
from typing import Any

from .. import _core
from ..errors import one_line

SCORES = ("em", "f1", "acc")
LATE = ("thinking_tokens", "grammar_broken")
"""Counts of a purpose that only some summaries have. They stand last."""
TOLD = ("first_unread", "notes")
"""What is not added up, and stands only where there is something to tell."""
LAST = ("first_unread", "pruned", "notes", "prompt_cache", "seconds")
CLEAR = 0.75
"""Python warns where a smaller share of a purpose's completions could be read."""
WARNING = "exploration changed none of "


def whole_summary(parts: Sequence[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`answers` are the rows of the whole run, in the order of the questions."""
    places: dict[str, int] = {}
    sums = dict.fromkeys(SCORES, 0.0)
    scored, unscored = False, False
    for place, row in enumerate(answers):
        places[row["id"]] = place
        if row["em"] is not None:
            scored = True
            sums = {name: sums[name] + row[name] for name in SCORES}
        unscored |= row["em"] is None and row["status"] != "open"
    whole = reduce(added, [{name: value for name, value in part.items() if name not in TOLD} for part in parts])
    for name in SCORES:
        whole[name] = sums[name] / len(places) if scored and not unscored else None
    for counts in whole["by_purpose"].values():
        counts.update({name: counts.pop(name) for name in LATE if name in counts})
    whole["by_purpose"] = dict(sorted(whole["by_purpose"].items()))
    told = (first_unread(parts, places), notes(parts, whole["choices"], whole["explored"]))
    whole |= {name: found for name, found in zip(TOLD, told, strict=True) if found}
    return in_order(whole)


def in_order(summary: Mapping[str, Any]) -> dict[str, Any]:
    order = [*(name for name in summary if name not in LAST), *LAST]
    return {name: summary[name] for name in order if name in summary}


def with_notes(summary: Mapping[str, Any], more: Mapping[str, str]) -> dict[str, Any]:
    """The summary with further notes, by file."""
    notes = dict(sorted({**summary.get("notes", {}), **more}.items()))
    return in_order({**summary, "notes": notes} if notes else summary)


def added(one: Any, other: Any) -> Any:
    """The sums of all numbers, by name. Texts are those of the first, and what is true in one is true."""
    if isinstance(one, dict):
        both = {name: added(value, other[name]) if name in other else value for name, value in one.items()}
        return both | {name: value for name, value in other.items() if name not in one}
    if isinstance(one, bool):
        return one or other
    return one + other if isinstance(one, int | float) and other is not None else one


def first_unread(parts: Sequence[Mapping[str, Any]], places: Mapping[str, int]) -> dict[str, Any]:
    """By purpose, the completion of the earliest question."""
    found: dict[str, Any] = {}
    for part in parts:
        for purpose, unread in part.get("first_unread", {}).items():
            earlier = found.setdefault(purpose, unread)
            found[purpose] = min(earlier, unread, key=lambda one: places[one["question"]])
    return dict(sorted(found.items()))


def notes(parts: Sequence[Mapping[str, Any]], choices: int, explored: int) -> dict[str, str]:
    """The notes of all shards. A warning that exploration changed nothing stands only where it holds for the whole."""
    found: dict[str, str] = {}
    warning = ""
    for part in parts:
        for name, note in part.get("notes", {}).items():
            if note.startswith(WARNING):
                warning = re.sub(r"\d+", str(choices), note, count=1)
            else:
                found[name] = joined(found.get(name, ""), note)
    if warning and not explored:
        found["trees.jsonl"] = warning
    return dict(sorted(found.items()))


def joined(whole: str, part: str) -> str:
    """Two notes as one. Where they differ only in the number that they begin with, it is a count."""
    before, same = split(whole)
    count, rest = split(part)
    if before and count and rest == same:
        return f"{int(before) + int(count)}{rest}"
    if part in whole:
        return whole
    return f"{whole}; {part}" if whole else part


def split(note: str) -> tuple[str, str]:
    """The number that a note begins with, '' = none, and the rest."""
    rest = note.lstrip("0123456789")
    return note[: len(note) - len(rest)], rest


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> list[str]:
    """Lines with columns side by side, the first `left` of them on the left."""
    cells = [[one_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return [
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def labels(summary: dict[str, Any]) -> list[str]:
    """The labels that must be shown with the results."""
    said = []
    if summary["simulated"]:
        said.append("[simulated: no real language model was asked]")
    if summary["oracle"]:
        said.append("[oracle: gold answers steered the trees]")
    return said


def readable_share(costs: Iterable[Mapping[str, int]]) -> float | None:
    """The share of the completions of these purposes that could be read.

    None without completions, and for a summary of an earlier version, which does not say it.
    """
    costs = list(costs)
    calls = sum(cost["calls"] for cost in costs)
    if not calls or not all("readable" in cost for cost in costs):
        return None
    return sum(cost["readable"] for cost in costs) / calls


def percent(share: float | None) -> str:
    """Rounded down: 100.0 % means all."""
    return "" if share is None else f"{floor(share * 1000) / 10:.1f} %"


RARE = {
    "cut": "cut by max_tokens",
    "cut_read": "cut but read",
    "refused": "refused",
    "repairs": "repairs",
    "repaired": "repaired",
    "constrained": "constrained",
    "grammar_broken": "grammar broken",
    "thinking_tokens": "thinking tokens",
}
"""Counts of a purpose that are shown where one of them is not 0, with their headings."""


CACHE = ("reused", "read")


def rare_counts(costs: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sums of those counts that are not 0. Summaries of earlier versions lack some of them."""
    sums = dict.fromkeys(RARE, 0)
    for cost in costs:
        for name in RARE:
            sums[name] += cost.get(name, 0)
    return {name: count for name, count in sums.items() if count}


def worst_read(summary: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The purpose with the smallest share of readable completions, what it is, and its first unread one."""
    first, purposes = summary["first_unread"], summary["by_purpose"]
    worst = min(first, key=lambda name: (readable_share([purposes[name]]) or 0, -purposes[name]["calls"]))
    cost, shown = purposes[worst], first[worst]
    said = f"{cost['calls'] - cost['readable']:,} of {cost['calls']:,} completions of {worst} could not be read"
    if cost["cut"]:
        said += f", {cost['cut']:,} of them cut by max_tokens"
    where = "in its thought " if shown.get("in_thought") else ""
    limit = f", cut {where}at max_tokens={shown['cut_at']}" if shown["cut_at"] else ""
    text = f'begins "{one_line(shown["text"])}"' if shown["text"] else "is empty"
    return worst, [said, f"the first, of question {one_line(shown['question'])}{limit}, {text}"]


def unread(summary: Mapping[str, Any]) -> list[str]:
    """That, and what to do."""
    if not summary.get("first_unread"):
        return []
    worst, said = worst_read(summary)
    more = f"--set sampling.{worst}.max_tokens=N allows longer replies; " if summary["by_purpose"][worst]["cut"] else ""
    more += "--set thinking=off or N shortens thoughts; " if summary["first_unread"][worst].get("in_thought") else ""
    return [*said, f"{more}`espalier doctor` asks the model each prompt once. In a run, {helps(summary, worst)}"]


def expected(method: str, purpose: str) -> str:
    """What a method reads in the replies of a purpose. Engines ask the prompts of DecEx-RAG."""
    prompts = _core.method_prompts(method if method in _core.method_names() else "decex")
    marks = next((marks for name, _, _, marks in prompts if name == purpose), [])
    shown = [
        f"{open}…{close}".replace("\n", " (a line)") if open or close else "the whole reply" for _, open, close in marks
    ]
    return f"{purpose} is read from {' or '.join(shown) or 'one line without tags'}"


def unread_warning(summary: Mapping[str, Any]) -> str:
    """What Python says of a run with a failed question, or with a purpose that was often unread. "" = nothing."""
    shares = {name: readable_share([cost]) for name, cost in summary["by_purpose"].items()}
    few = any(share is not None and share < CLEAR for share in shares.values())
    if not summary.get("first_unread") or not (summary["failed"] or few):
        return ""
    worst, said = worst_read(summary)
    unclear = sorted(summary["first_unread"], key=lambda name: (name != worst, shares[name] or 0))[:4]
    lines = [
        f"{summary['method']}: {summary['failed']} of {summary['questions']} questions failed. {said[0]}",
        f"readable: {', '.join(f'{name} {percent(share)}' for name, share in shares.items() if share is not None)}",
        *said[1:],
        *(expected(summary["method"], name) for name in unclear),
        "docs/own.md says how to get such replies, `espalier prompts show --method NAME` what is asked",
    ]
    return "\n  ".join(lines)


def helps(summary: Mapping[str, Any], purpose: str) -> str:
    """What helps a model to write what a method reads. Probes are sent only to servers that take grammars."""
    method = summary["method"]
    options = _core.method_options(method) if method in _core.method_names() else []
    more = ["--set shots=2"] if any(option == "shots" for option, *_ in options) else []
    if not any(f"the grammar of '{purpose}' was refused" in note for note in summary.get("notes", {}).values()):
        unknown = "" if purpose in summary.get("probes", {}) else " (beside --server if the server's sort is unknown)"
        more.append(f"--constrain always{unknown}")
    tags = f", without protocol=tools also {' and '.join(more)}" if more else ""
    return f"--set repair=true and --prompts DIR help small models{tags}"


def shares(summary: Mapping[str, Any]) -> list[str]:
    """How many completions of each purpose could be read, in one line; and what `unread` says."""
    known = ((name, readable_share([cost])) for name, cost in summary["by_purpose"].items())
    said = [f"{name} {percent(share)}" for name, share in known if share is not None]
    return [f"readable: {', '.join(said)}", *unread(summary)] if said else []


def prompt_cache(summary: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """What servers say of their caches, by purpose and of "all". Nothing where none says it."""
    told = summary.get("prompt_cache") or {}
    return {**told, "all": reduce(added, told.values())} if told else {}


def reused(summary: Mapping[str, Any]) -> list[str]:
    """What servers reused and read, in one line. A reply of the journal was not asked for again."""
    if not (told := prompt_cache(summary).get("all")):
        return []
    rest = summary["prompt_tokens"] - told["prompt_tokens"]
    more = f". {rest:,} more came from the journal, or their server does not say" if rest > 0 else ""
    asked = f"{told['prompt_tokens']:,} asked of servers, which reused {told['reused']:,} and read {told['read']:,}"
    return [f"prompt tokens: {asked}{more}"]


def scores(summary: Mapping[str, Any]) -> list[str]:
    """The scores in percent, in one line, if every question has gold."""
    if summary["f1"] is None:
        return []
    said = "   ".join(f"{name} {100 * summary[name.lower()]:.1f} %" for name in ("EM", "F1", "Acc"))
    return [f"{said}   without an answer {summary['null_predictions']}"]


def readable(summary: dict[str, Any]) -> list[str]:
    """The summary as lines of text."""
    backends = f"model {summary['model']}, retriever {summary['retriever']}"
    lines = [f"{summary['method']}: {summary['questions']} questions, {backends}"]
    lines += [f"  {line}" for line in (*labels(summary), *scores(summary))]
    states = [f"{name} {summary[name]}" for name in ("done", "budget", "open", "failed") if summary[name]]
    lines.append("  questions: " + ", ".join(states))
    purposes = summary["by_purpose"]
    counts = ("calls", "prompt_tokens", "completion_tokens", "retrievals")
    rare = rare_counts(purposes.values())
    cache = prompt_cache(summary)
    rows = [
        [
            name,
            *(f"{cost[count]:,}" for count in counts),
            *(f"{more.get(count, 0):,}" for count in rare),
            *(f"{cache[name][count]:,}" if name in cache else "" for count in CACHE if cache),
            percent(share),
        ]
        for name, cost, more, share in [
            *((name, cost, cost, readable_share([cost])) for name, cost in purposes.items()),
            ("all", summary, rare, readable_share(purposes.values())),
        ]
    ]
    names = [count.replace("_", " ") for count in counts]
    header = ("purpose", *names, *(RARE[count] for count in rare), *(CACHE if cache else ()), "readable")
    lines += ["  " + line for line in [*table(header, rows), *reused(summary), *unread(summary)]]
    pruned = [f"{reason} {count:,}" for reason, count in summary["pruned"].items() if count]
    lines.append(f"  {summary['nodes']:,} nodes, pruned: " + (", ".join(pruned) or "none"))
    lines += [f"  {file}: {note}" for file, note in summary.get("notes", {}).items()]
    return [*lines, f"  {summary['seconds']:.1f} s"]
