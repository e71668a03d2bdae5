"""The options of a run, which several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Container
from functools import partial
from typing import Any

from ... import _core
from .config import given
from .encoder import add_encoder_options


def add_method_option(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(_core.method_names())
    parser.add_argument("--method", help=f"decex (default), or one of: {names}", default="decex", metavar="METHOD")


def add_run_options(parser: argparse.ArgumentParser, *, without: Container[str] = (), required: bool = True) -> None:
    def option(name: str, help: str, **more: Any) -> None:
        if name not in without:
            parser.add_argument(name, help=help, **more)

    option("--config", "YAML or JSON file with options of this command; those on the line win", metavar="FILE")
    option("--preset", "options as the method's paper or its published code has them", choices=["paper", "code"])
    option("--questions", "JSON lines with id, question, golden_answers", required=required, metavar="FILE")
    option("--corpus", "JSON lines with id, title, contents; not needed with a retrieval server", metavar="FILE")
    option("--index", "folder of `espalier index build`, in place of the corpus", metavar="DIR")
    option(
        "--out",
        "folder of the run; run again with the same options, it goes on where it was stopped",
        required=required,
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
    option("--ca-file", "PEM file of trusted authorities (else SSL_CERT_FILE)", metavar="FILE")
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
        metavar="NAME|URL",
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
    add_encoder_options(parser, "an embeddings server: for dense, faiss, value heads, choices by embedding")
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
    option("--timeout", "seconds per attempt (300)", type=float, metavar="S")
    option("--deadline", "seconds per request with all its attempts (600)", type=float, metavar="S")
    option("--attempts", "attempts per request, 0 = as many as the deadline allows", type=int, metavar="N")
    option(
        "--contact", "say so when a server has not replied for so many seconds (30), 0 = never", type=float, metavar="S"
    )
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
    option("--dry-run", "check options and inputs, say what would be asked and estimate its cost", action="store_true")
    option("--like", "estimate a dry run by this finished run, not by a simulated one", metavar="RUN")
    parser.set_defaults(given=partial(given, parser))
