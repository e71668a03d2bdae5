"""Index folders: built, described, searched, and in place of a corpus in runs."""

import gzip
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import PARTS, ModelServer, contents, espalier, good, inputs, needs_http, needs_journal, refused, start


@pytest.fixture(scope="module")
def index(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "index"
    done = good("index", "build", "--corpus", files / "corpus.jsonl", "--out", folder)
    assert "300 passages of corpus.jsonl" in done.stdout and "analyzer simple, k1 1.2, b 0.75" in done.stdout
    return folder


def with_index(files: Path, index: Path) -> list[str]:
    return [*inputs(files)[:2], "--index", str(index), *inputs(files)[4:]]


def test_an_index_says_what_it_holds(index: Path):
    done = good("index", "info", index, "--verify", "--json")
    said = json.loads(done.stdout)
    assert said["corpus"]["passages"] == 300 and said["corpus"]["source"] == "corpus.jsonl" and said["verified"]
    assert said["bm25"]["analyzer"] == "simple" and said["bm25"]["terms"] > 100
    assert said["corpus"]["bytes"] == (index / "corpus.bin").stat().st_size
    assert sorted(path.name for path in index.iterdir()) == ["bm25.bin", "corpus.bin", "index.json"]
    assert "every byte" in espalier("index", "info", index, "--verify").stdout


def test_a_packed_corpus_is_read_as_the_plain_one(index: Path, files: Path, tmp_path: Path):
    if PARTS["gzip"] is not None:
        pytest.skip("built without zlib")
    packed, cut = tmp_path / "packed.gz", tmp_path / "cut.gz"
    packed.write_bytes(gzip.compress((files / "corpus.jsonl").read_bytes()))
    assert "300 passages of packed.gz" in good("index", "build", "--corpus", packed, "--out", tmp_path / "index").stdout
    for part in ("corpus.bin", "bm25.bin"):
        assert (tmp_path / "index" / part).read_bytes() == (index / part).read_bytes()
    cut.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(esp.errors.InputError, match=r"cut\.gz"):
        esp.build_index(cut, tmp_path / "none")


def test_an_index_is_a_retriever_that_answers_as_bm25_in_memory(index: Path, world: esp.World):
    opened, memory = esp.Index(index), esp.Bm25(world.passages)
    queries = [esp.Query(question.text, 7) for question in world.questions] + [esp.Query("", 3)]
    assert opened(queries) == memory(queries)
    assert len(opened) == 300 and opened[17] == world.passages[17]
    with pytest.raises(IndexError):
        opened[300]


def test_queries_are_searched(index: Path, files: Path, world: esp.World, tmp_path: Path):
    title = world.passages[3].title
    done = good("index", "search", "--index", index, title, "-k", 2, "--json")
    found = json.loads(done.stdout)
    assert found["query"] == title and len(found["passages"]) == 2 and found["passages"][0]["title"] == title
    table = espalier("index", "search", "--index", index, title, title).stdout
    assert table.count("score") == 2 and title in table
    done = espalier("index", "search", "--index", index, "--queries", files / "questions.jsonl", "--json")
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == [q.text for q in world.questions]
    lines = f"{title}\n\n  x\n".encode()
    forms = {
        "queries": lines,
        "packed": gzip.compress(lines),
        "marked": b"\xef\xbb\xbf" + lines,
        "beir.jsonl.gz": gzip.compress(f'{{"_id": 1, "text": "{title}"}}\n{{"_id": 2, "text": "x"}}\n'.encode()),
        "q.csv": f'Question,n\n"{title}",1\nx,2\n'.encode(),
        "q.json": json.dumps([{"question": title}, {"query": "x"}]).encode(),
    }
    for name, data in forms.items():
        (tmp_path / name).write_bytes(data)
        done = espalier("index", "search", "--index", index, "--queries", tmp_path / name, "--json")
        assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == [title, "x"], name


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["build", "--corpus", "{files}/corpus.jsonl", "--out", "{index}"], 2, "holds an index already"),
        (["build", "--corpus", "{files}/none.jsonl", "--out", "{tmp}/x"], 3, "none.jsonl"),
        (["build", "--corpus", "{tmp}/twice.jsonl", "--out", "{tmp}/x"], 3, "twice.jsonl:2: field 'id'"),
        (["build", "--corpus", "{files}/corpus.jsonl", "--out", "{tmp}/x", "--k1", "-1"], 2, "option 'k1'"),
        (["build", "--corpus", "{files}/corpus.jsonl", "--out", "{tmp}/x", "--threads", "-1"], 2, "option 'threads'"),
        (["info", "{files}"], 3, "is not the folder of a finished index"),
        (["search", "--index", "{index}"], 2, "what is looked for?"),
        (["search", "--index", "{index}", "x", "-k", "0"], 2, "option 'k'"),
        (["search", "--index", "{index}", "--queries", "{tmp}/bad.jsonl"], 3, "bad.jsonl:1: field 'question'"),
        (["search", "--index", "{index}", "--queries", "{tmp}/latin1"], 3, "latin1:2: is not UTF-8"),
        (["search", "--index", "{index}", "--queries", "{tmp}/utf16"], 3, "utf16:1: is UTF-16"),
        (["search", "--index", "{index}", "--queries", "{tmp}/list.jsonl"], 3, "list.jsonl:1: field 'query': is not"),
        (["search", "--index", "{damaged}", "the"], 3, "damaged/"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(index, files, tmp_path, arguments, code, message):
    (tmp_path / "twice.jsonl").write_text('{"id":"a","text":"x"}\n{"id":"a","text":"y"}\n')
    (tmp_path / "bad.jsonl").write_text('{"id":"a"}\n')
    (tmp_path / "list.jsonl").write_text('{"query":["a"]}\n')
    (tmp_path / "utf16").write_bytes("a\nb\n".encode("utf-16"))
    (tmp_path / "latin1").write_bytes("a\nna\xefve\n".encode("latin-1"))
    damaged = tmp_path / "damaged"
    shutil.copytree(index, damaged)
    data = bytearray((damaged / "corpus.bin").read_bytes())
    data[5000] ^= 1
    (damaged / "corpus.bin").write_bytes(data)
    places = {"files": files, "index": index, "tmp": tmp_path, "damaged": damaged}
    done = espalier("index", *(argument.format(**places) for argument in arguments))
    assert done.returncode == code and message in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "x" / "index.json").exists()


# ---- vectors


def letters(texts: list[str]) -> list[list[float]]:
    return [[float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


def embeddings_server() -> ModelServer:
    """Counts letters behind /v1/embeddings."""

    def embed(request: dict[str, Any]) -> tuple[int, bytes]:
        data = [{"index": i, "embedding": row} for i, row in enumerate(letters(request["input"]))]
        return 200, json.dumps({"data": data}).encode()

    return ModelServer(embed)


def encoded(url: str, name: str = "letters", profile: str = "e5") -> list[str]:
    return ["--encoder", f"{url}?name={name}&profile={profile}"]


def test_vectors_of_an_index_are_searched_by_the_encoder_that_made_them(files: Path, world: esp.World, tmp_path: Path):
    folder = tmp_path / "index"
    with embeddings_server() as server:
        url = server.url
        done = good("index", "build", "--corpus", files / "corpus.jsonl", "--out", folder, *encoded(url))
        assert "26 dimensions, inner_product" in done.stdout and "encoder letters, profile e5" in done.stdout
        said = json.loads(espalier("index", "info", folder, "--verify", "--json").stdout)["dense"]
        assert (said["encoder"], said["profile"], said["dimension"]) == ("letters", "e5", 26)
        assert said["bytes"] == (folder / "dense.bin").stat().st_size and len(said["fingerprint"]) == 32
        encoder = esp.HttpEncoder(url, "letters", profile="e5")
        index, memory = esp.Index(folder), esp.Dense(world.passages, encoder)
        queries = [esp.Query(question.text, 7) for question in world.questions]
        assert index.dense(encoder)(queries) == memory(queries)
        for kind, expected in (("dense", memory), ("hybrid", esp.Hybrid([index, memory]))):
            search = ["index", "search", "--index", folder, "--retriever", kind, *encoded(url), "--json", "-k", "3"]
            found = json.loads(espalier(*search, "the north").stdout)["passages"]
            assert [p["id"] for p in found] == [p.id for p in expected([esp.Query("the north", 3)])[0]]
        serve = ["serve", "retriever", "--index", folder, "--retriever", "hybrid", *encoded(url), "--port", 0, "--json"]
        with start(*serve) as process:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            assert said["retriever"] == "hybrid" and said["passages"] == 300
            remote = esp.HttpRetriever(said["url"])
            hybrid = esp.Hybrid([index, memory])
            assert [p.id for p in remote(queries[:1])[0]] == [p.id for p in hybrid(queries[:1])[0]]
            process.send_signal(signal.SIGTERM)
            assert (process.communicate(timeout=60), process.returncode) == (("", ""), 0)
        for other in (encoded(url, "digits"), encoded(url, profile="bge")):
            search = ["index", "search", "--index", folder, "--retriever", "dense", *other]
            assert '"letters" with the profile "e5"' in refused(2, *search, "x")
            run = ["answer", *with_index(files, folder), "--retriever", "hybrid", *other]
            assert '"letters" with the profile "e5"' in refused(2, *run, "--out", tmp_path / "out", "--overwrite")
        answers = []
        for kind in ("bm25", "hybrid"):
            out = tmp_path / kind
            run = ["answer", *with_index(files, folder), "--retriever", kind, *encoded(url), "--limit", "3"]
            good(*run, "--out", out)
            answers.append(json.loads((out / "run.json").read_text())["inputs"]["index"])
        assert answers[0] != answers[1]  # the vectors are an input of the one, not of the other


def test_passages_are_encoded_over_one_connection(files: Path, tmp_path: Path):
    with embeddings_server() as server:
        encoder = esp.HttpEncoder(server.url, "letters", in_flight=1)
        esp.build_index(files / "corpus.jsonl", tmp_path / "index", encoder=encoder)
    assert sum(len(request["input"]) for request in server.requests) == 300
    assert len(server.callers) == 1


@needs_journal
def test_what_a_journal_holds_is_not_encoded_again(files: Path, tmp_path: Path):
    with embeddings_server() as server:
        for folder in (tmp_path / "first", tmp_path / "second"):
            build = ["index", "build", "--corpus", files / "corpus.jsonl", "--out", folder, *encoded(server.url)]
            good(*build, "--journal", tmp_path / "kept.sqlite")
            assert sum(len(request["input"]) for request in server.requests) == 300
    assert (tmp_path / "first/dense.bin").read_bytes() == (tmp_path / "second/dense.bin").read_bytes()


def test_an_index_gets_vectors_from_a_function(files: Path, world: esp.World, tmp_path: Path):
    def encoder(requests: list[esp.parts.EncodeRequest]) -> list[list[float]]:
        return letters([request.text for request in requests])

    build = {"encoder": encoder, "metric": "l2"}
    with pytest.raises(ValueError, match="encoder_name"):
        esp.build_index(files / "corpus.jsonl", tmp_path / "index", **build)
    told: list[tuple[str, int, int]] = []
    progress = {"progress": lambda *stage: told.append(stage)}
    esp.build_index(files / "corpus.jsonl", tmp_path / "index", encoder_name="letters", **build, **progress)
    assert ("vectors", 300, 300) in told
    said = json.loads(esp.Index(tmp_path / "index").description)["dense"]
    assert said["metric"] == "l2" and said["fingerprint"] is None
    dense, memory = esp.Index(tmp_path / "index").dense(encoder), esp.Dense(world.passages, encoder, metric="l2")
    queries = [esp.Query(question.text, 7) for question in world.questions]
    assert dense(queries) == memory(queries)

    def fails(requests: list[esp.parts.EncodeRequest]) -> list[list[float]]:
        raise esp.errors.BackendError("no encoder today")

    with pytest.raises(esp.errors.BackendError, match="no encoder today"):
        esp.build_index(files / "corpus.jsonl", tmp_path / "other", encoder=fails, encoder_name="x")
    assert not (tmp_path / "other/index.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "--corpus", "x", "--out", "{tmp}/x", "--journal", "j"], "option 'journal' belongs to --encoder"),
        (["search", "--index", "{index}", "--retriever", "dense", "x"], "needs --encoder"),
        (
            ["search", "--index", "{index}", "--retriever", "dense", *encoded("http://127.0.0.1:1/v1"), "x"],
            "was built without --encoder",
        ),
    ],
)
@needs_http
def test_options_of_vectors_are_refused(index: Path, tmp_path: Path, arguments: list[str], message: str):
    assert message in refused(2, "index", *(argument.format(index=index, tmp=tmp_path) for argument in arguments))


# ---- runs


@pytest.fixture(scope="module")
def runs(files: Path, index: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same run over a corpus and over its index."""
    folder = tmp_path_factory.mktemp("runs")
    for name, arguments in (("corpus", inputs(files)), ("index", with_index(files, index))):
        good("expand", *arguments, "--out", folder / name)
    return folder / "corpus", folder / "index"


def test_a_run_over_an_index_has_the_bytes_of_one_over_the_corpus(runs: tuple[Path, Path]):
    assert contents(runs[0]) == contents(runs[1])
    record = json.loads((runs[1] / "run.json").read_text())
    assert record["inputs"]["corpus"] == "" and len(record["inputs"]["index"]) == 32


@needs_journal
def test_a_run_over_an_index_is_rescored_and_recognised(runs, files, index, tmp_path):
    again = [esp.rescore(run, {"margin": 0.9}, out=tmp_path / run.name).summary["calls"] for run in runs]
    assert again[0] == again[1]
    done = good("expand", *with_index(files, index), "--out", runs[1])
    assert "finished before" in done.stdout


def test_another_index_in_the_same_folder_is_refused(runs: tuple[Path, Path], files: Path, index: Path, tmp_path: Path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join((files / "corpus.jsonl").read_text().splitlines(keepends=True)[1:]))
    esp.build_index(corpus, tmp_path / "index")
    assert "inputs.index" in refused(2, "expand", *with_index(files, tmp_path / "index"), "--out", runs[1])
    assert "inputs.corpus" in refused(2, "expand", *inputs(files), "--out", runs[1])


def test_options_must_be_those_of_the_index(files: Path, index: Path, tmp_path: Path):
    arguments = [*with_index(files, index), "--out", tmp_path / "out", "--dry-run"]
    done = good("expand", *arguments)
    assert "12 questions, 300 passages" in done.stdout
    for wrong in (["--set", "bm25.k1=0.9"], ["--preset", "paper"]):
        assert "was built with" in refused(2, "expand", *arguments, *wrong)
    assert "exclude each other" in refused(2, "expand", *arguments, "--corpus", files / "corpus.jsonl")
    esp.build_index(files / "corpus.jsonl", tmp_path / "paper", analyzer="english-lucene", k1=0.9, b=0.4)
    for chosen in ([], ["--preset", "paper"], ["--set", "bm25.k1=0.9"]):
        arguments = [*with_index(files, tmp_path / "paper"), "--out", tmp_path / "out", "--dry-run"]
        good("expand", *arguments, *chosen)
