"""The command `espalier`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, NoReturn

from . import _core, _index, _journal
from ._annotate import annotate
from ._batch import add_ingest_options, add_prepare_options, ingest_command, prepare_batch, print_round
from ._errors import Error, InputError, MissingPart, StoreError
from ._files import count_passages, read_questions
from ._job import RunResult, check, run_job, write_world
from ._progress import shown_as
from ._rescore import rescore
from ._summary import labels, readable, table
from .eval.options import add_compare_options, add_eval_options
from .serve import command as serve

exit_codes = """exit codes:
  0    everything is done
  1    a failure left questions open; run the same command again to go on
  2    a bad option, or a part that is not in this build
  3    a file that cannot be read or written, or bad data in one
  130  interrupted; run the same command again to go on

ESPALIER_DEBUG=1 shows the traceback of an error. Keys of servers come from OPENAI_API_KEY."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def add_method_option(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(_core.method_names())
    parser.add_argument("--method", help=f"decex (default), or one of: {names}", default="decex", metavar="METHOD")


def add_run_options(parser: argparse.ArgumentParser, *, without: Container[str] = ()) -> None:
    def option(name: str, help: str, **more: Any) -> None:
        if name not in without:
            parser.add_argument(name, help=help, **more)

    option("--preset", "options as the method's paper or its published code has them", choices=["paper", "code"])
    option("--questions", "JSON lines with id, question, golden_answers", required=True, metavar="FILE")
    option("--corpus", "JSON lines with id, title, contents; not needed with a retrieval server", metavar="FILE")
    option("--index", "folder of `espalier index build`, in place of the corpus", metavar="DIR")
    option(
        "--out",
        "folder of the run; run again with the same options, it goes on where it was stopped",
        required=True,
        metavar="DIR",
    )
    option("--model", "'simulated' (default) or the URL of an OpenAI-compatible server", metavar="URL")
    option("--model-name", "the model's name at the server", metavar="NAME")
    option(
        "--endpoint",
        "a further server with that model, or with a purpose's own; may be repeated; the model's own URL weighs 1",
        dest="endpoints",
        action="append",
        metavar="[PURPOSE=]URL[*WEIGHT]",
    )
    option("--model-revision", "of its weights; part of the journal's keys", metavar="REVISION")
    option(
        "--model-for",
        "another model for one purpose, such as rollout; may be repeated",
        action="append",
        default=[],
        metavar="PURPOSE=URL,NAME",
    )
    option(
        "--extra-body", "JSON object merged into every request to a model; part of the journal's keys", metavar="JSON"
    )
    option("--ca-file", "PEM file of trusted authorities", metavar="FILE")
    option("--proxy", "address of a proxy to all servers (that of the environment)", metavar="URL")
    option("--api-key-file", "file with the servers' key", metavar="FILE")
    option("--api", "which protocol the server speaks", choices=["chat", "completions"])
    option(
        "--server",
        "its sort: vllm, sglang, llamacpp, llamacpp-python, ollama, openai, other; auto (default) asks it",
        metavar="SORT",
    )
    option(
        "--native-n",
        "a server of another sort knows `n`: samples of one prompt share a request",
        action="store_true",
        default=None,
    )
    option(
        "--stream",
        "replies come in chunks, for gateways that cut silent connections",
        action="store_true",
        default=None,
    )
    option(
        "--retriever",
        "bm25 (default), dense or hybrid (an index's vectors), dense:FILE, hybrid:FILE, faiss:INDEX or a server's URL",
        metavar="RETRIEVER",
    )
    option(
        "--retriever-protocol",
        "which the retrieval server speaks (search-r1)",
        choices=["search-r1", "rerank", "pyserini", "elasticsearch"],
    )
    option("--retriever-name", "what a retrieval server searches; part of the journal's keys", metavar="NAME")
    option("--reranker", "URL of a reranker, /rerank or /score, for what was retrieved", metavar="URL")
    option("--reranker-name", "its model's name at the server", metavar="NAME")
    option("--rerank-depth", "passages that the reranker sees (50)", type=int, metavar="N")
    option(
        "--encoder", "URL of an embeddings server: for dense, faiss, value heads, choices by embedding", metavar="URL"
    )
    option("--encoder-name", "the encoder's name at its server", metavar="NAME")
    option(
        "--encoder-profile", "its prefixes, scaling, length: e5, e5-instruct, bge, gte, minilm (none)", metavar="NAME"
    )
    option("--encoder-cut", "how texts are cut to that length (not at all)", choices=["none", "vllm", "llamacpp"])
    option("--value-server", "URL of a server that gives plan and search values (decouple)", metavar="URL")
    option("--value-name", "of the model behind the value server; part of the journal's keys", metavar="NAME")
    option("--value-head", "trained head over the encoder's embeddings (decouple)", metavar="FILE")
    option("--prompts", "folder of prompts to use instead of the built-in ones", metavar="DIR")
    option("--limit", "the first so many questions, 0 = all", type=int, metavar="N")
    option("--seed", "of the run (1)", type=int, metavar="S")
    option(
        "--set", "a search option; `espalier options` lists them", action="append", default=[], metavar="OPTION=VALUE"
    )
    option("--price", "of the model, per million tokens; for budgets in money", metavar="in=USD,out=USD")
    option(
        "--match-budget",
        "with --set max_calls=N (or max_tokens_total, max_usd): answer again until it is spent; the majority decides",
        action="store_true",
    )
    option("--in-flight", "outstanding requests, or the largest batch (64)", type=int, metavar="N")
    option("--open-questions", "trees that grow at once (4 times --in-flight)", type=int, metavar="N")
    option("--timeout", "seconds an attempt (300)", type=float, metavar="S")
    option("--deadline", "seconds a request with all its attempts (600)", type=float, metavar="S")
    option("--attempts", "attempts a request, 0 = as many as the deadline allows", type=int, metavar="N")
    option(
        "--hedge",
        "copy requests slower than this quantile of the recent ones to a second endpoint, such as 0.95",
        type=float,
        metavar="P",
    )
    option(
        "--overwrite",
        "start over where options, inputs or seed have changed; keeps the journal",
        action="store_true",
        default=None,
    )
    option(
        "--journal",
        "file that keeps the responses, shared with other runs (journal.sqlite in the run's folder)",
        dest="journal_file",
        metavar="FILE",
    )
    option(
        "--no-journal",
        "keep no journal; a run that was stopped starts over",
        dest="journal",
        action="store_false",
        default=None,
    )
    option("--replay", "answer from the journal alone", action="store_true", default=None)
    option("--json", "print JSON", action="store_true")
    option("--dry-run", "check options and inputs, run nothing", action="store_true")


def make_parser() -> Parser:
    def command(name: str, help: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=help,
            description=help,
            epilog=exit_codes,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    parser = Parser(
        prog="espalier",
        description="Reasoning trees for retrieval-augmented generation.",
        epilog=exit_codes,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="version, compiler, and the parts of this build")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for task in (
        command("expand", "Grow trees, harvest training data, write answers and a report."),
        command("answer", "Answer questions; no gold is needed and none is seen."),
    ):
        add_method_option(task)
        add_run_options(task)
    evaluation = command("eval", "Answer questions by several methods and compare scores and costs.")
    add_eval_options(evaluation)
    add_run_options(evaluation)
    add_compare_options(command("compare", "Show two runs over the same questions, question by question."))
    batch = command("batch", "Ask the model through an offline batch API, in rounds.").add_subparsers(
        dest="step", metavar="STEP", required=True, parser_class=Parser
    )
    prepare = batch.add_parser("prepare", help="write what a run would ask next", allow_abbrev=False)
    add_method_option(prepare)
    add_run_options(prepare)
    add_prepare_options(prepare)
    add_ingest_options(batch.add_parser("ingest", help="put responses into the run's journal", allow_abbrev=False))
    world = command("world", "Generate passages and multi-hop questions.")
    world.add_argument("--out", required=True, metavar="DIR", help="gets questions.jsonl and corpus.jsonl")
    world.add_argument("--passages", type=int, default=2000, metavar="N", help="one an entity (2000)")
    world.add_argument("--questions", type=int, default=100, metavar="N", help="all different (100)")
    world.add_argument("--seed", type=int, default=1, metavar="S")
    world.add_argument("--max-hops", type=int, default=4, metavar="N", help="longest chain, 1 to 4 (4)")
    again = command("rescore", "Do a recorded run again under other options; no model is asked.")
    again.add_argument("run", metavar="RUN", help="folder of a run that kept its journal")
    again.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="another reward, threshold, chain ...; `espalier options` lists them",
    )
    again.add_argument("--out", required=True, metavar="DIR", help="gets the same files as a run")
    again.add_argument("--json", action="store_true", help="print JSON")
    said = command("annotate", "Add what a model says to a recorded run's trees, and harvest its data again.")
    said.add_argument("run", metavar="RUN", help="folder of a run of `expand`")
    said.add_argument(
        "--with",
        dest="with_",
        action="append",
        required=True,
        metavar="NAME[=URL,MODEL]",
        help="judge, prm or embedding; with the model to ask (default: the run's, if simulated); may be repeated",
    )
    said.add_argument("--out", metavar="DIR", help="gets the same files as a run (default: the run's are replaced)")
    said.add_argument("--journal", dest="journal_file", metavar="FILE", help="keeps the answers (the run's journal)")
    said.add_argument("--in-flight", type=int, metavar="N", help="outstanding requests (64)")
    said.add_argument("--ca-file", metavar="FILE", help="PEM file of trusted authorities")
    said.add_argument("--api-key-file", metavar="FILE", help="file with the server's key")
    said.add_argument("--json", action="store_true", help="print JSON")
    _, answers = serve.add_options(command("serve", "Serve passages or answers over HTTP."))
    add_method_option(answers)
    add_run_options(answers, without=serve.not_served)
    _journal.add_options(command("journal", "What a journal holds: stats, export, prune, verify."))
    _index.add_options(command("index", "Build, describe and search an index of a corpus, in a folder."))
    options = command("options", "List a method's options.")
    options.add_argument("--method", default="decex")
    options.add_argument("--json", action="store_true", help="print JSON")
    return parser


def pairs(option: str, texts: Sequence[str], value: str) -> dict[str, str]:
    """`name=value` texts as a mapping."""
    parts = [text.partition("=") for text in texts]
    for name, equals, _ in parts:
        if not equals:
            raise ValueError(f"{option} takes {value}, not '{name}'")
    return {name.strip(): text.strip() for name, _, text in parts}


def budget_options(price: str | None, match_budget: bool) -> dict[str, str]:
    """What --price and --match-budget set."""
    chosen = {"match_budget": "true"} if match_budget else {}
    if price is not None:
        prices = pairs("--price", price.split(","), "in=USD,out=USD")
        if not prices.keys() <= {"in", "out"}:
            raise ValueError(f"--price takes in=USD,out=USD, not '{price}'")
        chosen |= {f"price_{side}": usd for side, usd in prices.items()}
    return chosen


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    settings = dict(vars(arguments))
    for name in ("command", "version", "json", "dry_run"):
        settings.pop(name, None)
    settings["set"] = pairs("--set", arguments.set, "OPTION=VALUE")
    settings["set"] |= budget_options(settings.pop("price"), settings.pop("match_budget"))
    models = pairs("--model-for", settings.pop("model_for"), "PURPOSE=URL,NAME")
    settings["models"] = {purpose: model.partition(",")[::2] for purpose, model in models.items()}
    return settings


def dry_run(task: str, settings: dict[str, Any]) -> str:
    check(task, settings)
    questions = read_questions(settings["questions"], limit=settings["limit"] or 0, require_gold=task == "expand")
    passages = count_passages(settings)
    return f"options and inputs are good: {len(questions)} questions, {passages} passages; nothing was run"


def print_answers(result: RunResult) -> None:
    with (result.out / "answers.jsonl").open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            print(row["id"], row["question"], "" if row["answer"] is None else row["answer"], sep="\t")


def run_command(arguments: argparse.Namespace) -> int:
    task, settings = arguments.command, settings_of(arguments)
    if arguments.dry_run:
        print(dry_run(task, settings))
        return 0
    with shown_as(quiet=arguments.json) as view:
        result = run_job(task, settings, view)
    if task == "answer" and arguments.json:
        print((result.out / "answers.jsonl").read_text(encoding="utf-8"), end="")
    elif arguments.json:
        print(json.dumps(result.summary, ensure_ascii=False))
    elif task == "answer":
        print_answers(result)
        print(labels(result.summary), end="", file=sys.stderr)
    else:
        print(readable(result.summary))
        if result.recognised:
            print("This run was finished before; nothing was run.")
        print(f"Report: {result.out / 'report.html'}")
    if result.open:
        print(
            f"espalier: a backend failed and left {result.open} questions open (see answers.jsonl); run again to go on",
            file=sys.stderr,
        )
    return 1 if result.open else 0


def prepare_command(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    task, most, again = (settings.pop(name) for name in ("task", "most", "again"))
    settings.pop("step")
    if arguments.dry_run:
        print(dry_run(task, settings))
        return 0
    with shown_as(quiet=arguments.json) as view:
        done = prepare_batch(task, settings, view, most=most, again=again)
    return print_round(done, arguments.json)


def rescore_command(arguments: argparse.Namespace) -> int:
    with shown_as(quiet=arguments.json) as view:
        result = rescore(arguments.run, pairs("--set", arguments.set, "OPTION=VALUE"), out=arguments.out, progress=view)
    if arguments.json:
        print(json.dumps(result.summary, ensure_ascii=False))
        return 0
    print(readable(result.summary))
    if result.open:
        print(f"undetermined: {result.open} questions whose search would have asked what this run never asked")
    print(f"Report: {result.out / 'report.html'}")
    return 0


def annotate_command(arguments: argparse.Namespace) -> int:
    with_: dict[str, tuple[str, str] | None] = {}
    for text in arguments.with_:
        name, equals, model = text.partition("=")
        url, _, model_name = model.partition(",")
        with_[name] = (url, model_name) if equals else None
    names = ("journal_file", "in_flight", "ca_file", "api_key_file")
    execution = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    with shown_as(quiet=arguments.json) as view:
        result = annotate(arguments.run, with_, out=arguments.out, progress=view, **execution)
    print(json.dumps(result.summary, ensure_ascii=False) if arguments.json else readable(result.summary))
    if result.open:
        print(f"espalier: {result.open} questions are open (see answers.jsonl)", file=sys.stderr)
    return 1 if result.open else 0


def world_command(arguments: argparse.Namespace) -> int:
    write_world(
        arguments.out,
        passages=arguments.passages,
        questions=arguments.questions,
        seed=arguments.seed,
        max_hops=arguments.max_hops,
    )
    print(f"{Path(arguments.out) / 'questions.jsonl'}: {arguments.questions} questions")
    print(f"{Path(arguments.out) / 'corpus.jsonl'}: {arguments.passages} passages")
    return 0


def options_command(arguments: argparse.Namespace) -> int:
    rows = _core.method_options(arguments.method)
    if arguments.json:
        keys = ("option", "default", "allowed", "explanation")
        print(
            json.dumps(
                [dict(zip(keys, row, strict=True)) | {"default": json.loads(row[1])} for row in rows],
                ensure_ascii=False,
            )
        )
        return 0
    print("\n".join(table(("option", "default", "allowed", "explanation"), rows, left=4)))
    return 0


def print_version() -> None:
    info = _core.build_info()
    print(f"espalier {info['version']}, {info['compiler']}, Python {sys.version.split()[0]}")
    present = [name for name, package in info["parts"].items() if package is None]
    print("  parts: " + (", ".join(present) or "none"))
    for name, package in info["parts"].items():
        if package is not None:
            print(f"  left out: {name} (install {package} and build again)")


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if arguments.version:
        print_version()
        return 0
    if arguments.command is None:
        parser.error("which command? `espalier --help` lists them")
    if arguments.command == "world":
        return world_command(arguments)
    if arguments.command == "batch":
        return prepare_command(arguments) if arguments.step == "prepare" else ingest_command(arguments)
    if arguments.command == "rescore":
        return rescore_command(arguments)
    if arguments.command == "annotate":
        return annotate_command(arguments)
    if arguments.command == "journal":
        return _journal.run(arguments)
    if arguments.command == "index":
        return _index.run(arguments)
    if arguments.command == "options":
        return options_command(arguments)
    if arguments.command == "serve":
        return serve.run(arguments, settings_of(arguments) if arguments.serve_what == "answers" else {})
    if arguments.command in ("eval", "compare"):
        from .eval import command  # numpy is not for every command

        if arguments.command == "compare":
            return command.compare_command(arguments)
        return command.eval_command(settings_of(arguments), as_json=arguments.json, dry_run=arguments.dry_run)
    return run_command(arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    parser = make_parser()
    try:
        code = run(parser.parse_args(argv), parser)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("espalier: interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, Error, OSError) as error:
        if os.environ.get("ESPALIER_DEBUG") == "1":
            raise
        print(f"espalier: {error}", file=sys.stderr)
        if isinstance(error, (InputError, StoreError, OSError)):
            return 3
        return 2 if isinstance(error, (ValueError, MissingPart)) else 1


if __name__ == "__main__":
    sys.exit(main())
