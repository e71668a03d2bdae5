"""`espalier annotate`."""

import argparse
from collections.abc import Mapping
from typing import Any

from ..io.terminal import say, say_error, say_json
from ..runs.annotate import CONSTRAIN, PURPOSES, annotation
from ..runs.progress import shown_as
from ..runs.summary import readable, readable_share
from .shared.run_options import add_allow_failed, add_setting
from .shared.task import tell_end
from .shared.track import add_track_option, tracked

SUMMARY = "Add what a model says to a recorded run's trees, and harvest its data again."
EXAMPLES = (
    "espalier annotate out/prorag --with judge --out out/judged",
    "espalier annotate out/airrag --with embedding=gguf:e5.gguf",
    "espalier annotate out/prorag --constrain always --with prm=http://localhost:8000/v1,Qwen/Qwen2.5-72B-Instruct",
)
EXECUTION = ("journal_file", "in_flight", "api_key_file")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a run of `expand`")
    parser.add_argument(
        "--with",
        dest="with_",
        action="append",
        required=True,
        metavar="NAME[=MODEL[,NAME]]",
        help="judge, prm, cold_start or embedding. MODEL is asked: a URL, gguf:FILE or hf:FOLDER "
        "(the run's, if simulated). It may be repeated",
    )
    parser.add_argument("--out", metavar="DIR", help="gets the same files as a run (the run's are replaced)")
    parser.add_argument(
        "--constrain", default="", choices=tuple(CONSTRAIN), help="whether replies follow a grammar (as in the run)"
    )
    add_setting(parser, "journal_file", "keeps the answers (the run's journal)")
    for name in EXECUTION[1:]:
        add_setting(parser, name)
    add_track_option(parser)
    add_allow_failed(parser)


def run(arguments: argparse.Namespace) -> int:
    with_: dict[str, tuple[str, str] | None] = {}
    for text in arguments.with_:
        name, equals, model = text.partition("=")
        url, _, model_name = model.partition(",")
        with_[name] = (url, model_name) if equals else None
    given = {name: value for name in EXECUTION if (value := getattr(arguments, name)) is not None}
    job = tracked(arguments.track)
    with shown_as(quiet=arguments.json) as view:
        result = job("annotate", annotation(arguments.run, with_, arguments.out, arguments.constrain, **given), view)
    say_json(result.summary) if arguments.json else say(*readable(result.summary))
    ended = tell_end(result, arguments, "see answers.jsonl" if arguments.out else "the run's files stay as they were")
    return ended or max([tell_unread(name, result.summary) for name in with_])


def tell_unread(name: str, summary: Mapping[str, Any]) -> int:
    """Says that no reply of an annotation could be read. Returns the exit code."""
    costs = [summary["by_purpose"][purpose] for purpose in PURPOSES.get(name, ()) if purpose in summary["by_purpose"]]
    if readable_share(costs) != 0:
        return 0
    calls = sum(cost["calls"] for cost in costs)
    say_error(
        f"annotate: none of {calls} replies for --with {name} could be read, so nothing was added. "
        "Running again would change nothing: ask another model, or try --constrain always"
    )
    return 4
