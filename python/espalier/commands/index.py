"""`espalier index`: corpora and their indexes, in folders that are mapped into memory for searching."""

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._core import Index, Query, build_index
from ..errors import InputError
from ..io.rows import Row, read_rows, unpacked
from ..io.terminal import say, say_json
from ..runs.progress import eta, shown_as
from ..runs.summary import table
from .shared.encoder import ANALYZERS, add_encoder_options, add_retriever_option, encoder_of, retriever_over
from .shared.parser import add_command

SUMMARY = "Build, describe and search an index of a corpus, in a folder."
EXAMPLES = ()
STAGES = {"corpus": "corpus", "bm25 read": "words", "bm25 merge": "postings", "vectors": "vectors"}


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    build = add_command(
        actions,
        "build",
        "Build an index folder from a corpus.",
        ["espalier index build --corpus corpus.jsonl --out index --analyzer english-lucene --k1 0.9 --b 0.4"],
    )
    build.add_argument(
        "--corpus", required=True, metavar="FILE", help="JSON lines with id, title, contents, or TSV, plain or .gz"
    )
    build.add_argument("--out", required=True, metavar="DIR", help="folder of the index")
    build.add_argument("--analyzer", default="simple", choices=ANALYZERS, help="what a word is (simple)")
    build.add_argument("--k1", type=float, default=1.2, metavar="X", help="saturation of repeated words (1.2)")
    build.add_argument("--b", type=float, default=0.75, metavar="X", help="weight of a passage's length (0.75)")
    build.add_argument("--threads", type=int, default=0, metavar="N", help="0 = one per core. It never changes a byte")
    build.add_argument("--overwrite", action="store_true", help="build anew where there is an index")
    add_encoder_options(build)
    build.add_argument(
        "--metric",
        default="inner_product",
        choices=["inner_product", "cosine", "l2"],
        help="how vectors are compared (inner_product)",
    )
    build.add_argument(
        "--journal", default="", metavar="FILE", help="keeps the embeddings. A build that was stopped goes on with it"
    )
    info = add_command(actions, "info", "Say what is in an index.", ["espalier index info index --verify"])
    info.add_argument("index", metavar="DIR", help="folder of the index")
    info.add_argument("--verify", action="store_true", help="read every byte and check it")
    search = add_command(
        actions,
        "search",
        "Search an index.",
        [
            "espalier index search --index index 'who founded the town of Alder?'",
            "espalier index search --index index --queries questions.jsonl -k 10 --json",
        ],
    )
    search.add_argument("--index", required=True, metavar="DIR", help="folder of the index")
    search.add_argument("query", nargs="*", metavar="QUERY", help="what to look for")
    search.add_argument(
        "--queries",
        metavar="FILE",
        help="one query per line, or rows with the field question (JSON lines, JSON, CSV, Parquet). - = standard input",
    )
    add_retriever_option(search)
    add_encoder_options(search)
    search.add_argument("-k", type=int, default=5, metavar="N", help="passages per query (5)")


def run(arguments: argparse.Namespace) -> int:
    return {"build": _build, "info": _info, "search": _search}[arguments.action](arguments)


def _build(arguments: argparse.Namespace) -> int:
    if arguments.threads < 0:
        raise ValueError(f"option 'threads' is {arguments.threads}, allowed: 0 or more")
    encoder = encoder_of(arguments)
    if encoder is None and arguments.journal:
        raise ValueError("option 'journal' belongs to --encoder, which is missing")
    start = time.monotonic()
    begun: dict[str, float] = {}

    def progress(stage: str, done: int, of_all: int) -> None:
        now = time.monotonic()
        seconds = now - begun.setdefault(stage, now)
        text = f"{STAGES[stage]}: {100 * done // max(of_all, 1)} %"
        if stage == "vectors" and seconds > 0:
            text += f", {done:,} of {of_all:,}, {done / seconds:,.0f}/s"
        view.show(done, of_all, now - start, f"{text}, ETA {eta(done, of_all, seconds)}")

    names = ("analyzer", "k1", "b", "threads", "overwrite", "metric", "journal")
    own: dict[str, Any] = {name: getattr(arguments, name) for name in names}
    with shown_as(quiet=arguments.json) as view:
        build_index(arguments.corpus, arguments.out, encoder=encoder, progress=progress, **own)
    _print_description(json.loads(Index(arguments.out).description), as_json=arguments.json)
    return 0


def _info(arguments: argparse.Namespace) -> int:
    index = Index(arguments.index)
    description = json.loads(index.description)
    if arguments.verify:
        index.verify()
        description["verified"] = True
    _print_description(description, as_json=arguments.json)
    return 0


def _print_description(description: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(description)
        return
    corpus, bm25 = description["corpus"], description["bm25"]
    rows = [
        ("folder", description["folder"]),
        ("corpus", f"{corpus['passages']:,} passages of {corpus['source']}, {size(corpus['bytes'])}"),
        ("BM25", f"{bm25['terms']:,} terms, {bm25['postings']:,} postings, {size(bm25['bytes'])}"),
        ("", f"analyzer {bm25['analyzer']}, k1 {bm25['k1']}, b {bm25['b']}"),
        ("fingerprint", bm25["fingerprint"]),
    ]
    if dense := description.get("dense"):
        shape = f"{dense['dimension']} dimensions, {dense['metric']}, {size(dense['bytes'])}"
        made = f"encoder {dense['encoder']}, profile {dense['profile']}"
        rows += [("vectors", shape), ("", made)]
    if description.get("verified"):
        rows.append(("verified", "every byte is as it was written"))
    say(*(f"{name:<12}{text}" for name, text in rows))


def size(count: int) -> str:
    """A number of bytes: '1.5 MB'."""
    value, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.0f} {units[0]}" if units[0] == "bytes" else f"{value:.1f} {units[0]}"


def queries_of(file: Path) -> Iterator[str]:
    """The queries in a file, or in standard input for "-": rows with a question, or one on each line."""
    if file.name.lower().removesuffix(".gz").endswith((".csv", ".json", ".parquet")):
        yield from map(query_of, read_rows(file))
        return
    with unpacked(file) as lines:
        for number, line in enumerate(lines, 1):
            try:
                text = line.decode("utf-8-sig").strip()
            except UnicodeDecodeError:
                raise InputError(f"{file}:{number}: is not UTF-8") from None
            if text.startswith("{"):
                with suppress(ValueError, RecursionError):  # a query that begins with a brace
                    text = query_of(Row(f"{file}:{number}", number, json.loads(text)))
            if text:
                yield text


def query_of(row: Row) -> str:
    return row.text(row.first_of("query", "text", "Question", "question"))


def _search(arguments: argparse.Namespace) -> int:
    if arguments.k < 1:
        raise ValueError(f"option 'k' is {arguments.k}, allowed: 1 or more")
    queries = [*arguments.query, *(queries_of(Path(arguments.queries)) if arguments.queries else ())]
    if not queries:
        raise ValueError("what is looked for? Give a query, or --queries FILE")
    retriever = retriever_over(Index(arguments.index), arguments)
    for query, found in zip(queries, retriever([Query(text, arguments.k) for text in queries]), strict=True):
        if arguments.json:
            passages = [{"id": p.id, "title": p.title, "text": p.text, "score": p.score} for p in found]
            say_json({"query": query, "passages": passages})
        else:
            rows = [(f"{p.score:.4f}", p.id, p.title, " ".join(p.text.split())[:80]) for p in found]
            say(query, *table(("score", "id", "title", "text"), rows, left=4), "")
    return 0
