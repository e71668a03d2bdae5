"""`--dry-run` is the beginning of the run: it refuses what the run refuses, and writes nothing."""

from pathlib import Path

import espalier as esp
import pytest
from conftest import PARTS, espalier, inputs

pytestmark = pytest.mark.skipif(any(PARTS.values()), reason="a part that is not in the build has a code of its own")
PROMPTS = {"not_utf8": b"{question} {history} \xff", "utf16": "{question}".encode("utf-16")}
PROMPTS |= {"slotless": b"x", "empty": b""}
OPTIONS = [
    *(f"SERVER --{limit}={value}" for limit in ("timeout", "deadline") for value in ("nan", "inf", "0", "-1", "1e300")),
    *(f"SERVER {more}" for more in ("--attempts=-1", "--endpoint x", "--endpoint http://h:8/v1*0")),
    *(f"SERVER {more}" for more in ("--extra-body {", "--server no", "--model-for rollout=x", "--set thinking=maybe")),
    *(f"--method airrag {more}" for more in ("--set n_qt=3", "--set n_sa=2", "--prune keep(top_k:1)")),
    *("--method airrag --set choice=embedding", "--method airrag-lite --set n_say=3", "--endpoint http://h:8/v1"),
    *("--model http://h:9/v1", "--model gpt-4 --constrain off", "--model http://h:9/v1 --model-name m --shard 1/2"),
    *("--retriever http://h:9/retrieve --timeout=nan", "--retriever bm26", "--retriever http://", "--retriever dense"),
    *("--retriever faiss:w/questions.jsonl", "--reranker x", "--reranker http://h:9/rerank?depth=0", "--shard 3/2"),
    *("--method decouple --set values=server", "--method decouple --values ftp://x", "--prune top_kk:2", "--track foo"),
    *("--set foo=1", "--set temperature=nan", "--set max_seconds=inf", "--match-budget", "--set max_usd=1"),
    *("--set bm25.analyzer=klingon", "--set curtail=exact --set compare_across=true", "--in-flight 0"),
    *("--replay --no-journal", "--out w/held --seed 2", "--out w/held --method ircot", "--prune top_k:0"),
    "eval --methods decex,ircot --timeout=nan SERVER",
    *(f"batch prepare {more}" for more in ("", "--model-name m --most 0", "--model-name m --server ollama")),
    "batch prepare --model-name m --no-journal",
    *(f"SERVER --set finish_reasons={names}" for names in ("a;b", "'a'")),
    'SERVER --model http://h:9/v1?session=user={question} --extra-body {"user":1}',
]
FILES = [
    *(f"--prompts w/{name}" for name in (*PROMPTS, "misspelt", "none", "questions.jsonl")),
    *(f"--{option} w/{name}" for option in ("corpus", "questions") for name in ("none", "", "bad.jsonl", "bad.gz")),
    *(f"--journal w/{name}" for name in ("none/j.sqlite", "questions.jsonl", "")),
    *(f"--track jsonl={name}" for name in ("w/none/log", "w/", "w/questions.jsonl/log", "/proc/x")),
    *(f"--out w/{name}" for name in ("questions.jsonl", "questions.jsonl/below", "damaged", "dangling")),
    *(f"{line} --out /proc/x" for line in ("", "eval --methods cot", "batch prepare --model-name m")),
    *("--replay --out w/fresh", "--config w/none.yaml", "--model gguf:w/none.gguf", "--journal /proc/j"),
    *("SERVER --retriever faiss:w/none --encoder http://h:9/v1", "--model hf:w/none"),
    "eval --methods cot --corpus w/none",
    *("--method decouple --values w/none --encoder http://h:9/v1", "batch prepare --model-name m --corpus w/none"),
]
TAKEN = ["--method airrag --preset paper --set n_say=3", "--method airrag-lite --set n_qt=3", "--out w/held"]
LINES = [(code, line) for code, lines in {2: OPTIONS, 3: FILES, 0: TAKEN}.items() for line in lines]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dry") / "w"
    esp.write_world(folder, passages=60, questions=2, seed=5)
    for name, text in {**PROMPTS, "misspelt": b"{question} {history}"}.items():
        (folder / name).mkdir()
        (folder / name / ("rolout.txt" if name == "misspelt" else "rollout.txt")).write_bytes(text)
    for name in ("bad.jsonl", "bad.gz"):
        (folder / name).write_bytes(b"\x1f\x8bnonsense\n")
    (folder / "dangling").symlink_to(folder / "nowhere")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "run.json").write_text("{nonsense")
    assert espalier("answer", *inputs(folder), "--out", folder / "held").returncode == 0
    return folder


@pytest.mark.parametrize(("code", "line"), LINES)
def test_a_dry_run_refuses_what_the_run_refuses(code: int, line: str, world: Path, tmp_path: Path):
    server = "--model http://127.0.0.1:9/v1 --model-name m --constrain off"
    words = line.replace("SERVER", server).replace("w/", f"{world}/").split()
    begin = {"eval": 1, "batch": 2}.get(words[0], 0) if words else 0
    words = [*(words[:begin] or ["answer"]), *inputs(world), "--out", tmp_path / "out", *words[begin:]]
    before = sorted(world.rglob("*"))
    dry = espalier(*words, "--dry-run")
    assert (dry.returncode, sorted(world.rglob("*")), list(tmp_path.iterdir())) == (code, before, []), dry.stderr
    run = espalier(*words)
    assert run.returncode == code and run.stderr.endswith(dry.stderr)
