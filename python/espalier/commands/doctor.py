"""`espalier doctor`."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from ..doctor import inputs, services
from ..doctor.finding import Finding, ok, problem, tell
from ..errors import Error
from ..runs.job import check
from .shared.run_options import add_run_options, settings_of

SUMMARY = "Check servers, files and disk before a run, each by a small real use."
EXAMPLES = (
    "espalier doctor --model http://localhost:8000/v1 --model-name Qwen/Qwen2.5-7B-Instruct --corpus corpus.jsonl",
    "espalier doctor --config run.yaml --json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser, without=["--dry-run"], required=False)


def run(arguments: argparse.Namespace) -> int:
    return 1 if tell(examined(settings_of(arguments)), as_json=arguments.json) else 0


def examined(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings, as they are made."""
    given = {name: value for name, value in settings.items() if value is not None}
    passages = {} if given.get("index") else {"corpus": "-"}  # where there are none, that is a finding of its own
    try:
        check("answer", {"out": "-", **passages, **given})
        yield ok("options", f"good for {settings['method']}")
    except (Error, OSError, ValueError) as error:
        yield problem(
            "options", error, f"mend it. `espalier options --method {settings['method']}` lists what --set takes"
        )
    for part in inputs.CHECKS:
        yield from part(settings)
    models = list(services.check_models(settings))
    yield from models
    if not any(finding.state == "problem" for finding in models):  # what does not answer need not be asked more
        yield from services.check_prompts(settings)
    for part in (services.check_retrieval, services.check_encoder, services.check_values):
        yield from part(settings)
