"""What 0.2.0 had and is gone, with what to use instead: one sentence for whoever names it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import wraps
from importlib import import_module, util
from typing import Any, TypeVar

from . import _core
from .errors import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])

COMMANDS = {
    "slurm": "an array job runs the shards (--shard), then `espalier merge` (docs/shards.md)",
    "improve": "`examples/improve.py` repeats expand, train sft, train dpo and answer in rounds",
    "completion": "`shtab --shell=bash espalier.cli.make_parser` prints the script",
    "compare": "`espalier report A B`",
    "export verify": "a trainer itself loads the files (docs/export.md)",
    "journal stats": "`espalier journal RUN`",
    "journal export": "a journal is an SQLite file: `sqlite3` reads it (docs/files.md)",
    "journal prune": "a journal is an SQLite file: `sqlite3` deletes its records (docs/files.md)",
    "journal verify": "a run checks each record that it reads, and `sqlite3 FILE 'PRAGMA integrity_check'` the file",
}
"""Lines by their first words."""
OPTIONS = {
    "like": "a run with --limit 20 and its summary.json say what a question costs",
    "sampling": "set={'sampling.PURPOSE.OPTION': value}",
    "scale_documents": "with l_max passages scale to fill it, always",
    "stop_at_root": "the first round never stops",
    "storage": "--shards-to ADDRESS (`shards_to`) gets finished shards",
    "traces.rllm": "traces.trl, with the same tokens, masks and advantages, a row for each text of a branch",
    "traces.tinker": "traces.trl, with the same tokens, masks and advantages, a row for each text of a branch",
    "value.dual": "value.jsonl of the run, which `espalier train value` reads",
    "prm.placeholder": "prm.stepwise; OpenRLHF had a reader of placeholders up to 0.9.5",
    "template": "a file chat_template.jinja in the model's folder, which transformers reads",
    "weight_decay": "it is always 0",
    "loss": "it is sigmoid, DPO's own; TRL's DPOTrainer has all others, over `export --format dpo.explicit`",
    "center": "it is always 0",
    "most_retrievals": "it is 4, DecEx-RAG's T_max",
    "workers": "Ray does as many shards at once as it has processors",
    "speculate": "many questions in flight fill the slots of a server already",
    "delta": "it was the error rate of curtail=kl_lucb. curtail=exact and halving are there",
    "factory": "faiss builds an index, `espalier.Faiss(passages, encoder, file=INDEX)` searches it",
    "label_token_ids": "a cross-encoder behind /rerank",
    "split": "rows of rl.verl say train",
    "verbosity": "the simulated model says only what a step is about",
    "contact": "a server that has not replied for a twentieth of --deadline (`deadline`) is named",
    "hedge": "several --endpoint (`endpoints`), of which a slow one gets fewer calls",
    "encoder_cut": "texts are cut to the tokens of the encoder's profile",
    "constrain_below": "0.95 of the probes must be readable",
    "constrain_as": "with shards say --constrain off, always or draft",
    "native_n": "samples of one prompt share a request where the server is known to give equal texts",
    "ca_file": "the variable SSL_CERT_FILE",
    "eval_questions": "`espalier answer` asks the trained model",
    "proxy": "the variables https_proxy, http_proxy and no_proxy",
    "decex.rows": "form=policy expands the trained policy by its own prompts",
    "decouple.rows": "`export --format traces.trl` has each step with its prompt",
    "annotation.rollouts": "curtail=none draws all rollouts in the search",
    "HttpEncoder.cut": "texts are cut to the tokens of the encoder's profile",
    "Faiss.metric": "the file that faiss wrote says it",
    "mcts.selection": "select=, as in Mcts",
    "airrag.select": "choice, with the same values",
    "Puct.normalise": "Puct takes rewards in [0, 1]",
    "Uct.normalise": "Uct takes rewards in [0, 1]",
    "espalier index build.vectors": "vectors are 32-bit numbers; faiss has other forms: --retriever faiss:INDEX",
    "espalier train rft.rounds": "`train rft` makes one, and `examples/improve.py` repeats",
    "espalier.thinking": "--set thinking=on, off, or the most tokens of a thought",
    "espalier.retriever_name": "--retriever URL?name=NAME",
    "espalier.retriever_api": "--retriever URL?api=NAME",
    "espalier.reranker_name": "--reranker URL?name=NAME",
    "espalier.rerank_depth": "--reranker URL?depth=N",
    "espalier.encoder_name": "--encoder URL?name=NAME",
    "espalier.encoder_profile": "--encoder URL?profile=NAME",
    "espalier.value_name": "--values URL?name=NAME",
    "value_server": "--values URL (`values`)",
    "value_head": "--values FILE (`values`)",
    "espalier.api": "--model URL?api=completions",
    "espalier.protocol": "--set protocol=tools",
}
"""Options of the command line, settings, options of `--set` and keywords, by Python's name. Where others still have the
name, it stands behind the command ("espalier" for all), the method, the class or the kind that lost it."""
VALUES = {
    "server=gateway": "openai asks with max_completion_tokens, other asks any server",
    "server=llamacpp-python": "other asks llama-cpp-python's server, llamacpp is llama.cpp's own",
    "diversity=token_jaccard": "charset, as DecoupleRAG's published code has it",
    "curtail=kl_lucb": "exact, or halving",
    "curtail=consistency": "exact, or halving",
    "retriever=dense:*": "`espalier index build --encoder`, then --index DIR --retriever dense",
    "retriever=hybrid:*": "`espalier index build --encoder`, then --index DIR --retriever hybrid",
    "url=*/score": "/rerank of the same server",
}
"""Values of options. A * stands for any text."""
NAMES = {
    "espalier.write_vectors": "`espalier.build_index(…, encoder=…)` keeps the vectors of a corpus",
    "espalier.improve": "`examples/improve.py` repeats expand, train sft, train dpo and answer in rounds",
    "espalier.Run": "`espalier.read_run(FOLDER)`",
    "espalier.answer_node": "`tree.best_node`",
    "espalier.answer_row": "`tree.to_row()`",
    "espalier.runs.Progress": "`from espalier.parts import Progress`",
    "espalier.runs.RunResult": "`from espalier.parts import RunResult`",
    "espalier.runs.RunSettings": "`from espalier.parts import RunSettings`",
    "espalier.runs.progress_view": "`espalier.progress_view`",
    "espalier.adapters.Bm25sRetriever": "a function of a list of queries that returns lists of passages",
    "espalier.adapters.SentenceEncoder": "a function of a list of requests that returns a matrix (docs/own.md)",
    "espalier.adapters.VllmModel": "`espalier.OpenAi` asks vLLM's server, or a function of a list of prompts",
    "espalier.adapters.FlashRagRetriever": "a function of a list of queries that returns lists of passages",
    "espalier.adapters.QdrantRetriever": "a function of a list of queries that returns lists of passages",
    "espalier.problem.Verdict": "`from espalier.search import Verdict`",
    "espalier.search.NodeEvent": "finished trees hold what events told",
    "espalier.search.SimulationEvent": "finished trees hold what events told",
    "espalier.search.PrunedEvent": "finished trees hold what events told",
    "espalier.search.DoneEvent": "finished trees hold what events told",
    "espalier.tracking.spans": "costs.jsonl and answers.jsonl have the times and costs of questions",
}
"""Names of modules."""


def absent(module: str) -> Callable[[str], object]:
    """A module's `__getattr__`. A name that is gone is an ImportError: `from module import name` says so too."""

    def find(name: str) -> object:
        if instead := NAMES.get(f"{module}.{name}"):
            raise ImportError(said(f"{module}.{name}", instead))
        if not name.startswith("_") and module == "espalier" and util.find_spec(f"{module}.{name}"):
            return import_module(f"{module}.{name}")
        parts = [key for key in list(sys.modules) if key.startswith(f"{module}.")]
        home = min((key for key in parts if name in getattr(sys.modules[key], "__all__", ())), key=len, default="")
        hint = f", write `from {home} import {name}`" if home else did_you_mean(name, dir(sys.modules[module]))
        raise AttributeError(f"module '{module}' has no attribute '{name}'{hint}")

    return find


def said(what: str, instead: str) -> str:
    return f"{what} is gone since 0.3.0: {instead}"


def keywords(function: F) -> F:
    """The function, which says of a keyword that it does not have what replaced it, or the nearest one."""
    known = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]

    @wraps(function)
    def call(*args: object, **given: object) -> object:
        for name in given:
            if name not in known:
                raise TypeError(f"{function.__name__}(): {unknown(name, known, where=function.__name__)}")
        return function(*args, **given)

    return call  # type: ignore[return-value]


def gone_command(line: Sequence[str]) -> str:
    """What to say of a line that begins with a command which is gone. '' = it does not."""
    for words in (line[:1], line[:2] if len(line) > 2 else []):
        if (name := " ".join(words)) in COMMANDS:
            return said(f"command '{name}'", COMMANDS[name])
    return ""


def instead_of(name: str, where: str = "") -> str:
    """What replaced an option of a command, a method, a class or a function. '' = it is not gone there."""
    plain = name.lstrip("-").replace("-", "_")
    keys = (f"{where}.{plain}", f"{re.split('[ -]', where)[0]}.{plain}", plain)  # airrag-lite is an airrag
    return next((OPTIONS[key] for key in keys if key in OPTIONS), "")


def unknown(name: str, known: Iterable[str], kind: str = "option", where: str = "") -> str:
    """What to say of an option that is none: what replaced it, or the known one that was meant."""
    instead = instead_of(name, where)
    return said(f"{kind} '{name}'", instead) if instead else f"unknown {kind} '{name}'{did_you_mean(name, known)}"


def method_meant(text: str) -> str:
    """The method of a text such as "DecEx-RAG", "" = none."""
    plain = re.sub(r"[\s_-]", "", text.lower())
    names = {name.replace("-", ""): name for name in _core.method_names()}
    return names.get(plain) or next((name for start, name in names.items() if plain == f"{start}rag"), "")


@contextmanager
def naming() -> Iterator[None]:
    """An option or a value that the compiled part does not know in the block, and that is gone, is said to be."""
    try:
        yield
    except ValueError as error:
        found = re.match(r"unknown (option|setting) '([\w.-]+)'(?: of ([\w-]+))?", str(error))
        if found and (instead := instead_of(found[2], found[3] or ("espalier" if found[1] == "setting" else ""))):
            raise ValueError(said(f"{found[1]} '{found[2]}'", instead)) from None
        if found and found[2] == "reward":
            raise ValueError("a run with a folder takes set={'reward': NAME}, a reward of your own is run's") from None
        if found and found[1] == "option" and found[2] in (row[0] for row in _core.method_options("direct", True)):
            raise ValueError(f"option '{found[2]}' is one of runs with a folder, not of searches in memory") from None
        if found := re.match(r"unknown method '(.*?)'(.*)", str(error)):
            name, listed = method_meant(found[1]), ", `espalier methods` lists them"
            near = f", did you mean '{name}'?" if name else found[2] or did_you_mean(found[1], _core.method_names())
            raise ValueError(f"unknown method '{found[1]}'{near or listed}") from None
        if found := re.match(r"option '([\w.-]+)' is (\S+), ", str(error)):
            chosen = f"{found[1]}={found[2]}"
            for value, instead in VALUES.items():
                if fnmatchcase(chosen, value):
                    raise ValueError(said(chosen, instead)) from None
        raise
