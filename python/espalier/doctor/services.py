"""Servers and retrievers, each by a run over one question that asks nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import _core
from ..errors import Error, MissingPart, one_line
from ..io.files import read_text
from ..local.llama_cpp import opened_encoder
from ..local.sources import encoder_source_of, source_of
from ..runs.job import run_job, try_prompts
from ..runs.summary import reused
from .finding import Finding, ok, problem, warning

SECONDS = 30.0
LIMITS = ("timeout", "deadline")
QUESTION = "Who wrote the first novel?"
CONNECTION = ("api_key_file", "extra_body")
MODEL = ("api", "server", "session", "stream", *CONNECTION)
ENCODER = ("encoder", "encoder_name", "encoder_profile")
PROMPTS = (
    *("method", "preset", "set", "constrain", "prompts", "seed"),
    *("model", "model_name", "models", "endpoints", *MODEL),
)
RETRIEVER = ("corpus", "index", "retriever", "retriever_name", "retriever_api", *ENCODER, *CONNECTION)
RERANKER = ("reranker", "reranker_name", "rerank_depth")
VALUES = ("values", "value_name", *ENCODER, *CONNECTION)


def taken(settings: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: settings[name] for name in names if settings.get(name) is not None}


def limits_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of a check: the user's, else 30 s for what is asked over the network, and none for models here."""
    models = [settings.get("model"), *(model for model, _ in (settings.get("models") or {}).values())]
    default = {} if any(map(source_of, models)) else dict.fromkeys(LIMITS, SECONDS)
    return {"attempts": 1, **default, **taken(settings, LIMITS)}


class Trial:
    """Answers one question by `method` under `settings` and keeps nothing. Raises what a run raises."""

    def __init__(self, method: str, settings: Mapping[str, Any], options: Mapping[str, object] | None = None) -> None:
        with TemporaryDirectory() as name:
            folder = Path(name)
            row = {"id": "q", "question": QUESTION, "golden_answers": ["-"]}
            (folder / "questions.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
            (folder / "corpus.jsonl").write_text('{"id": "p", "contents": "a\\nb"}\n', encoding="utf-8")
            given = {"questions": str(folder / "questions.jsonl"), "out": str(folder / "out"), "method": method}
            limits = {**limits_of(settings), "journal": False, "set": options or {}}
            limits |= {"constrain": "off"}  # one question is no reason for probes
            if not any(settings.get(name) for name in ("corpus", "index")):
                given["corpus"] = str(folder / "corpus.jsonl")
            start = time.monotonic()
            done = run_job("answer", {**settings, **given, **limits})
            self.seconds = time.monotonic() - start
            self.reused = reused(done.summary)
            answer = json.loads((done.out / "answers.jsonl").read_text(encoding="utf-8"))
            self.error: str | None = answer["error"] if answer["status"] == "open" else None  # else a reply was there
            servers = done.out / "servers.json"
            sorts = json.loads(servers.read_text(encoding="utf-8")) if servers.exists() else {}
            self.sort: str | None = next(iter(sorts.values()), None)


def tried(
    part: str, what: str, advice: str, method: str, settings: Mapping[str, Any], options: Mapping[str, object] | None
) -> tuple[Finding, Trial | None]:
    try:
        trial = Trial(method, settings, options)
    except MissingPart as error:
        return problem(part, error, "install that part, or do without the option"), None
    except (Error, OSError, ValueError) as error:
        return problem(part, error, advice), None
    if trial.error:
        return problem(part, f"{what}: {trial.error}", advice), None
    return ok(part, "; ".join([f"{what} answered in {trial.seconds:.2f} s", *trial.reused])), trial


def split_endpoint(text: str) -> tuple[str, str]:
    """The purpose, "" = the main model, and the URL of [PURPOSE=]URL[*WEIGHT]."""
    before, scheme, after = text.partition("://")
    purpose, _, protocol = before.rpartition("=")
    url = protocol + scheme + after
    return purpose, url.rpartition("*")[0] or url


def check_models(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Every model: it answers under its name, and its server's sort is known."""
    main = settings.get("model") or "simulated"
    asked = taken(settings.get("set") or {}, ("thinking", "finish_reasons"))
    if main == "simulated":
        yield ok("model", "simulated: no server is asked")
    models = [("model", main, settings.get("model_name") or "")]
    others = settings.get("models") or {}
    models += [(f"model for {purpose}", url, name) for purpose, (url, name) in others.items()]
    for endpoint in settings.get("endpoints") or []:
        purpose, url = split_endpoint(endpoint)
        name = others.get(purpose, ("", ""))[1] if purpose else models[0][2]
        models.append((f"endpoint for {purpose}" if purpose else "endpoint", url, name))
    for part, url, name in models:
        if url == "simulated":
            continue
        own = taken(settings, (*MODEL, *LIMITS)) | {"model": url, "model_name": name}
        if url != main:
            own.pop("server", None)
        advice = "is the server up, the address right (with /v1), the model's name, the key, --timeout long enough?"
        if source_of(url):
            advice = "are the file or folder and its options right?"
        finding, trial = tried(part, name or "the model", advice, "direct", own, {"max_tokens": 8, **asked})
        yield finding
        if trial is None:
            continue
        if source := source_of(url):
            yield ok(f"{part}'s server", f"none: {source.kind} runs in this process")
            continue
        if (own.get("server") or "auto") != "auto":
            yield ok(f"{part}'s server", f"{own['server']}, as --server says")
        elif trial.sort:
            yield ok(f"{part}'s server", trial.sort)
        else:
            advice = "name its sort by --server, so that what it can do is used"
            yield warning(f"{part}'s server", "does not say of what sort it is", advice)


def check_prompts(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Each prompt of the method, asked once as a run would ask it: could the reply be read?

    One reply is little to judge a model by, so it is a warning if it could not; if none could, each is a problem.
    """
    others = settings.get("models") or {}
    if all(model in (None, "simulated") for model in (settings.get("model"), *(url for url, _ in others.values()))):
        return
    own = {"constrain": "auto", **taken(settings, PROMPTS), **limits_of(settings)}
    chosen = dict(own.get("set") or {})
    tools = chosen.get("protocol") == "tools"
    decides = own["constrain"] == "auto" and "constrain" not in chosen and not tools
    ruled = set[str]()
    try:
        prompts = try_prompts(own | ({"constrain": "off"} if decides else {}))
        if decides and any(not one.read and not one.error for one in prompts):
            ruled = {one.purpose for one in try_prompts(own | {"constrain": "always"}) if one.read}
    except (Error, OSError, ValueError) as error:
        yield problem("prompts", error, "correct the options or the prompts")
        return
    unread = warning if any(prompt.read for prompt in prompts) else problem
    shots = "--set shots=2, then " if not tools and takes_shots(own) else ""
    for prompt in prompts:
        part, purpose = f"prompt {prompt.purpose}", prompt.purpose
        begins = f'it begins "{one_line(prompt.reply)}"' if prompt.reply else "it is empty"
        if prompt.error:
            yield problem(part, prompt.error, "is the model for this purpose right, and --timeout long enough?")
        elif prompt.read:
            yield ok(part, "the reply could be read")
        elif purpose in ruled:
            yield ok(part, f"a free reply could not be read, one under a grammar could (--constrain auto); {begins}")
        elif prompt.cut_at:
            where = " in its thought" if prompt.in_thought else ""
            found = f"the reply was cut{where} at max_tokens={prompt.cut_at} and could not be read; {begins}"
            shorter = "; or shorten thoughts: --set thinking=N" if prompt.in_thought else ""
            yield unread(part, found, f"allow longer replies: --set sampling.{purpose}.max_tokens=N{shorter}")
        else:
            advice = (
                f"try {shots}--set repair=true; or word the prompt for this model in {purpose}.txt "
                "(`espalier prompts show`) and give --prompts DIR, or ask another model"
            )
            yield unread(part, f"the reply could not be read; {begins}", advice)
    good = {prompt.purpose for prompt in prompts if prompt.read} | ruled
    other = {"termination", "sub_question", "next_question", "own_answer"}
    if own["method"] == "decex" and chosen.get("form") != "policy" and "rollout" in good and not good & other:
        found = "rollout can be read, the search's other prompts cannot"
        yield warning("prompts", found, "try --set form=policy, which grows trees from rollout alone")


def takes_shots(settings: Mapping[str, Any]) -> bool:
    """Whether the method has worked examples, and the user's prompts a heading to put them before."""
    own = Path(settings["prompts"]).glob("*.txt") if "prompts" in settings else ()
    has = any(option == "shots" for option, *_ in _core.method_options(settings["method"]))
    return has and all("\n### " in "\n" + read_text(file) for file in own)


def check_retrieval(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Checks the retriever with its encoder, and then the reranker on its results."""
    retriever = settings.get("retriever") or "bm25"
    if not any(settings.get(name) for name in ("corpus", "index")) and "://" not in retriever:
        return
    own = taken(settings, RETRIEVER)
    what = "the retrieval server" if "://" in retriever else retriever
    advice = "are address, its ?api=, the encoder and the files of the index right?"
    finding, trial = tried("retriever", what, advice, "standard-rag", own, None)
    yield finding
    if trial is not None and settings.get("reranker"):
        own |= taken(settings, RERANKER)
        advice = "are the address (with /rerank) and its ?name= right?"
        yield tried("reranker", "the reranker", advice, "standard-rag", own, None)[0]


def check_encoder(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """An encoder by itself, which a retriever's check may not have asked."""
    if not settings.get("encoder"):
        return
    source = encoder_source_of(settings["encoder"])
    name = settings.get("encoder_name") or ""
    profile = settings.get("encoder_profile") or "none"
    limits = limits_of(taken(settings, LIMITS))
    try:
        if source:
            with opened_encoder(source, name, profile) as own:
                (vector,) = own([_core.EncodeRequest(QUESTION)])
        else:
            encoder = _core.HttpEncoder(settings["encoder"], name, profile=profile, **limits)
            (vector,) = encoder([_core.EncodeRequest(QUESTION)])
        yield ok("encoder", f"gave a vector of {len(vector)} numbers")
    except (Error, ValueError) as error:
        yield problem("encoder", error, "are address and its ?name=, or the file, right?")


def check_values(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if settings.get("values"):
        advice = "is --values right: a URL with ?name=, or a file beside --encoder?"
        own = taken(settings, VALUES)
        options = {"values": "server" if "://" in settings["values"] else "head", "max_calls": 20}
        yield tried("values", "the values' source", advice, "decouple", own, options)[0]
