"""`espalier serve`: its options, and what they come to."""

import argparse
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import _core
from .._core import Bm25, Index, Retriever
from ..errors import MissingPart
from ..io.read import read_passages
from .shared.encoder import ANALYZERS, add_encoder_options, add_retriever_option, retriever_over
from .shared.parser import add_command
from .shared.run_options import add_run_options, settings_of

SUMMARY = "Serve passages, answers or values over HTTP."
EXAMPLES = ()
RETRIEVER = (
    "espalier serve retriever --index index --port 8900",
    "espalier serve retriever --corpus corpus.jsonl --host 0.0.0.0 --client-key-env RETRIEVER_KEY",
)
ANSWERS = (
    "espalier serve answers --method reasonrag --corpus corpus.jsonl --model http://localhost:8000/v1 \\\n"
    "    --model-name Qwen/Qwen2.5-7B-Instruct --journal answers.sqlite",
)
VALUES = ("espalier serve values --model models/value", "espalier serve values --model models/prm --port 8903")
# Options of a run that make no sense for a server of answers.
not_served = (
    *("--out", "--questions", "--limit", "--shard", "--open-questions", "--overwrite"),
    *("--journal", "--no-journal", "--replay", "--keep-tokens", "--allow-failed", "--dry-run"),
)
own = "serve_"  # how the names of a server's own options begin


def add_options(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="serve_what", metavar="WHAT", required=True)
    add = partial(add_command, kinds, json="print a JSON object when clients may come")
    retriever = add("retriever", "Serve passages by Search-R1's interface: POST /retrieve.", RETRIEVER)
    answers = add("answers", "Serve a method's answers by OpenAI's interface: POST /v1/chat/completions.", ANSWERS)
    values = add(
        "values", "Serve a trained value model (POST /value) or process reward model (POST /classify).", VALUES
    )
    add_door_options(values, port=8902, max_body=16 << 20, time_limit=60)
    add_values_options(values)
    add_door_options(retriever, port=8900, max_body=4 << 20, time_limit=30)
    add_door_options(answers, port=8901, max_body=1 << 20, time_limit=300)
    add_retriever_options(retriever)
    add_answers_options(answers)
    add_run_options(answers, without=not_served)


def add(parser: argparse.ArgumentParser, name: str, help: str, **more: Any) -> None:
    parser.add_argument(name, help=help, dest=own + name.removeprefix("--").replace("-", "_"), **more)


def positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not '{text}'")
    return int(text)


def add_number(parser: argparse.ArgumentParser, name: str, help: str, default: int) -> None:
    add(parser, name, f"{help} ({default})", type=positive, default=default, metavar="N")


def add_door_options(parser: argparse.ArgumentParser, *, port: int, max_body: int, time_limit: int) -> None:
    add(
        parser,
        "--host",
        "address to listen at. Others than the loopback need a key (127.0.0.1)",
        default="127.0.0.1",
        metavar="HOST",
    )
    add(parser, "--port", f"0 = any that is free ({port})", type=int, default=port, metavar="PORT")
    add(parser, "--client-key-env", "environment variable with the key that clients must send", metavar="NAME")
    add(parser, "--client-key-file", "file with that key", metavar="FILE")
    add_number(parser, "--max-body", "bytes of a request", max_body)
    add_number(parser, "--header-time", "seconds for a request's header to arrive", 10)
    add_number(parser, "--body-time", "seconds for its body", 30)
    add_number(parser, "--time-limit", "seconds per request", time_limit)


def add_retriever_options(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--corpus", help="JSON lines with id, title, contents, or TSV", metavar="FILE")
    source.add_argument("--index", help="folder of `espalier index build`", metavar="DIR")
    parser.add_argument("--k1", type=float, metavar="X", help="BM25 of a corpus: saturation of repeated words (1.2)")
    parser.add_argument("--b", type=float, metavar="X", help="BM25 of a corpus: weight of a passage's length (0.75)")
    parser.add_argument("--analyzer", choices=ANALYZERS, help="BM25 of a corpus: what a word is (simple)")
    add_retriever_option(parser)
    add_encoder_options(parser)
    add_number(parser, "--topk", "passages per query if a request gives no number", 3)
    add_number(parser, "--max-topk", "largest number of passages per query", 1000)
    add_number(parser, "--max-queries", "queries per request", 4096)
    add_number(parser, "--max-query", "characters per query", 8192)
    add_number(parser, "--max-results", "queries times topk of a request", 32768)
    add_number(parser, "--queue", "the same of all requests inside. More get 429", 131072)
    add_number(parser, "--batch", "queries in one search call", 512)


def add_answers_options(parser: argparse.ArgumentParser) -> None:
    add(parser, "--name", "the model's name for clients (espalier-METHOD)", metavar="NAME")
    add(parser, "--journal", "file of responses that need not be paid for again", metavar="FILE")
    add(parser, "--traces", "folder that gets the tree of each answer", type=Path, metavar="DIR")
    add(parser, "--questions", "what a simulated model knows", metavar="FILE")
    add_number(parser, "--max-question", "characters per question", 8192)
    add_number(parser, "--searches", "searches at once. More requests get 429", 256)


def add_values_options(parser: argparse.ArgumentParser) -> None:
    add(parser, "--model", "folder of `espalier train value` or `train prm`", metavar="DIR", required=True)
    add(parser, "--device", "cpu, cuda or cuda:N (cuda where there is one)", default="", metavar="NAME")
    add_number(parser, "--max-texts", "texts per request", 1024)
    add_number(parser, "--max-text", "characters per text", 1 << 20)
    add_number(parser, "--queue", "texts of all requests inside. More get 429", 65536)
    add_number(parser, "--batch", "texts in one call of the model", 256)


def run(arguments: argparse.Namespace) -> int:
    if find_spec("aiohttp") is None or find_spec("prometheus_client") is None:
        raise MissingPart("serving needs aiohttp and prometheus-client (pip install aiohttp prometheus-client)")
    import asyncio  # not for every command

    from ..serve.host import Door, announce, open_door, read_key

    chosen = {name.removeprefix(own): value for name, value in vars(arguments).items() if name.startswith(own)}
    key = read_key(chosen["client_key_env"], chosen["client_key_file"])
    times = {"header_seconds": chosen["header_time"], "body_seconds": chosen["body_time"]}
    seconds = chosen["time_limit"]
    door = open_door(Door(chosen["host"], chosen["port"], key, chosen["max_body"], seconds=seconds, **times))
    if chosen["what"] == "values":
        serve_values(chosen, door, as_json=arguments.json)
    elif chosen["what"] == "retriever":
        from ..serve import retriever

        limits = retriever.Limits(**{one.name: chosen[one.name] for one in fields(retriever.Limits)})
        search, size = searched(arguments)
        listening = announce("retriever", as_json=arguments.json, retriever=arguments.retriever, passages=size)
        asyncio.run(retriever.serve(search, door, limits, listening))
    else:
        from ..serve import answers

        settings = settings_of(arguments)
        if chosen["traces"]:
            chosen["traces"].mkdir(parents=True, exist_ok=True)
        offer = answers.Offer(
            name=chosen["name"] or f"espalier-{arguments.method}",
            seed=settings["seed"] or 1,
            traces=chosen["traces"],
            max_question=chosen["max_question"],
            searches=chosen["searches"],
            time_limit=chosen["time_limit"],
        )
        listening = announce("answers", as_json=arguments.json, model=offer.name)
        asyncio.run(answers.serve(answer_settings(settings, chosen), offer, door, listening))
    return 0


def serve_values(chosen: Mapping[str, Any], door: Any, *, as_json: bool) -> None:
    import asyncio

    from ..serve import values
    from ..serve.host import announce
    from ..train.job import need_packages

    need_packages()
    from ..train.scorer import Scorer

    scorer = Scorer(Path(chosen["model"]), chosen["device"])
    limits = values.Limits(**{one.name: chosen[one.name] for one in fields(values.Limits)})
    kind = "rewards" if scorer.rewards else "values"
    asyncio.run(values.serve(scorer, scorer.rewards, door, limits, announce(kind, as_json=as_json)))


def searched(arguments: argparse.Namespace) -> tuple[Retriever, int]:
    """The retriever that the command line names, and over how many passages."""
    bm25 = {name: getattr(arguments, name) for name in ("k1", "b", "analyzer") if getattr(arguments, name) is not None}
    if arguments.index:
        if bm25:
            raise ValueError(f"option '{next(iter(bm25))}' belongs to the build of an index, not to its use")
        index = Index(arguments.index)
        return retriever_over(index, arguments), len(index)
    if arguments.retriever != "bm25":
        raise ValueError(f"option 'retriever' is {arguments.retriever}, which needs --index")
    passages = read_passages(arguments.corpus)
    return Bm25(passages, **bm25), len(passages)


def answer_settings(settings: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the searches, which end a little before the time limit with the best answer so far."""
    served = {name: value for name, value in settings.items() if not name.startswith(own)}
    served |= {"questions": chosen["questions"], "journal_file": chosen["journal"]}
    if any(row[0] == "max_seconds" for row in _core.method_options(served["method"])):
        served["set"] = {"max_seconds": 0.8 * chosen["time_limit"]} | served["set"]
    return served
