"""`--dry-run`: what a run would be and about what it would cost. No connection is opened and no model loaded."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ... import _core
from ...io.read import count_passages
from ...io.terminal import say, say_json
from ...local.facts import Facts, facts_of
from ...local.sources import encoder_source_of, source_of
from ...runs.estimate import COUNTS, Estimate, simulated_estimate, usd_of
from ...runs.given import others_of
from ...runs.job import check
from ...runs.summary import table

HELD = "  {} holds a run: the same options and inputs go on with it, others are refused (--overwrite starts anew)"


def dry_run(task: str, settings: Mapping[str, Any], config: Mapping[str, Any], *, as_json: bool) -> None:
    """Checks options and inputs as a run does, and prints what would be run."""
    check(task, settings, files=True)
    models = dict(models_here(settings))
    chosen = _core.read_questions(settings["questions"], settings["limit"] or 0, False)
    questions = sum(_core.in_shard(settings["shard"] or "", question.id) for question in chosen)
    passages = count_passages(settings)
    found = simulated_estimate(task, settings)
    options = {} if isinstance(found, str) else found.options
    resolved = {**config, "set": {**settings["set"], **{name: v for name, v in options.items() if v is not None}}}
    estimate = estimate_row(found, questions, settings["set"])
    if as_json:
        row = {"config": resolved, "questions": questions, "passages": passages, "estimate": estimate}
        row["models"] = {name: facts._asdict() for name, facts in models.items()}
        say_json(row)
        return
    say(f"options and inputs are good: {questions} questions, {passages} passages. Nothing was run")
    if (Path(settings["out"]) / "run.json").exists() and not settings.get("overwrite"):
        say(HELD.format(settings["out"]))
    say(*(f"  {model}: {facts}" for model, facts in models.items()))
    for name, value in config.items():
        say(f"  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    print_estimate(estimate)


def models_here(settings: Mapping[str, Any]) -> Iterator[tuple[str, Facts]]:
    """The models and the encoder of this process, as the settings name them. Raises Error if one cannot be loaded."""
    models = [settings.get("model"), *(model for model, _ in others_of(settings.get("models")).values())]
    for model in models:
        if source := source_of(model):
            yield str(model), facts_of(source, settings.get("in_flight") or 0)
    if source := encoder_source_of(settings.get("encoder")):
        yield str(settings["encoder"]), facts_of(source, encodes=True)


def estimate_row(found: Estimate | str, questions: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """An estimate as JSON shows it: `by_purpose` and `usd` are of all the questions, null where nobody knows."""
    if isinstance(found, str):
        return {"source": found, "by_purpose": None, "usd": None}
    counts = found.scaled(questions)
    whole = {purpose: {name: round(value) for name, value in row.items()} for purpose, row in counts.items()}
    return {"source": found.source, "by_purpose": whole, "usd": usd_of(counts["all"], options)}


def print_estimate(estimate: Mapping[str, Any]) -> None:
    if estimate["by_purpose"] is None:
        say(f"no estimate: {estimate['source']}")
        return
    say(f"estimate ({estimate['source']}):")
    rows = [[name, *(f"{row[count]:,}" for count in COUNTS)] for name, row in estimate["by_purpose"].items()]
    say(*(f"  {line}" for line in table(("purpose", *(count.replace("_", " ") for count in COUNTS)), rows)))
    usd = estimate["usd"]
    say("  no cost without --price in=USD,out=USD" if usd is None else f"  about {usd:,.2f} USD at the given prices")
    say("  Another model writes other texts and takes other branches: expect a factor of two or more.")
