"""Models in this process, as far as they need no model: their files, their names, their memory."""

import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import inputs, needs_http, told
from espalier import cli
from espalier.errors import Error, InputError, MissingPart
from espalier.local import engine, facts, folder, memory
from espalier.local.decoding import seed_of, until_stop
from espalier.local.engine import LlamaEngine
from espalier.local.gguf import read_header
from espalier.local.sources import encoder_source_of, source_of
from espalier.runs import given as _given


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def number(name: str, value: int) -> bytes:
    return text(name) + struct.pack("<II", 4, value)


def numbers(name: str, *values: int) -> bytes:
    return text(name) + struct.pack(f"<IIQ{len(values)}q", 9, 11, len(values), *values)


def header(*fields: bytes, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(fields)) + b"".join(fields)


pytestmark = needs_http

ARCHITECTURE = text("general.architecture") + struct.pack("<I", 8) + text("llama")
SIZES = [
    number("llama.context_length", 2048), number("llama.block_count", 3), number("llama.embedding_length", 64),
    number("llama.attention.head_count", 4), number("llama.attention.head_count_kv", 2),
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(header(ARCHITECTURE, *SIZES))
    return path


def test_a_header_tells_the_cost_of_a_token(file: Path):
    read = read_header(file)
    assert (read.architecture, read.trained_context) == ("llama", 2048)
    assert read.cache_bytes == 3 * 2 * (16 + 16) * 2  # layers, heads, key and value of width 64 / 4, 2 bytes each


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is no GGUF file"),
        (b"PK\x03\x04 a zip file", "is no GGUF file"),
        (b"GGUF", "ends inside its header"),
        (header(ARCHITECTURE, version=1), "version 1; readable are 2 and 3"),
        (header(ARCHITECTURE, *SIZES)[:-3], "ends inside its header"),
        (header(text("a") + struct.pack("<I", 77)), "unknown type 77"),
        (header(*SIZES), "general.architecture"),
        (header(text("a") + struct.pack("<IIQ", 9, 4, 1 << 60)), "ends inside its header"),
        (header(text("a") + struct.pack("<IIQ", 9, 9, 1 << 60)), "values of the unknown type 9"),
        (header(ARCHITECTURE, number("llama.block_count", 1 << 31)), "block_count' is 2147483648, allowed: a number"),
        (header(ARCHITECTURE, text("llama.x") + struct.pack("<If", 6, float("nan"))), "x' is nan, allowed"),
        (header(ARCHITECTURE, number("llama.embedding_length", 0)), "embedding_length' is 0, allowed"),
        (header(ARCHITECTURE, number("llama.attention.key_length", (1 << 32) - 1)), "key_length' is 4294967295"),
        (header(ARCHITECTURE, numbers("llama.attention.head_count_kv", 4, -1)), "head_count_kv' is -1, allowed"),
        (header(ARCHITECTURE, numbers("llama.x", *[1] * 5000, -(1 << 63))), "x' is -9223372036854775808, allowed"),
        (header(ARCHITECTURE, numbers("llama.context_length", 512)), r"context_length' is \[512\], allowed: a number"),
        (header(ARCHITECTURE, number("general.alignment", 33)), "general.alignment' is 33, allowed: a power of two"),
    ],
)
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes, reason: str):
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"bad\.gguf: .*{reason}"):
        read_header(path)


def test_the_parts_of_a_split_model_are_one_model(tmp_path: Path):
    first, second, third = (tmp_path / f"big-0000{one}-of-00003.gguf" for one in (1, 2, 3))
    first.write_bytes(header(ARCHITECTURE, *SIZES))
    second.write_bytes(header(number("split.no", 1)) + b"one")
    with pytest.raises(InputError, match=r"big-00003-of-00003\.gguf: there is no such part of a model, which has 3"):
        LlamaEngine(first)
    third.write_bytes(header(number("split.no", 2)))
    with pytest.raises(InputError, match=r"00002-of.*: is a later part of a model; name its first one, big-00001-of"):
        LlamaEngine(second)
    whole = LlamaEngine(first)
    assert whole.header.bytes == sum(part.stat().st_size for part in (first, second, third))
    before = whole.revision
    second.write_bytes(header(number("split.no", 1)) + b"two")
    assert LlamaEngine(first).revision != before


def test_too_little_memory_is_said_before_loading(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "available_memory", lambda: 300 << 20)
    LlamaEngine(file, slots=1).check_memory()
    said = r"tiny\.gguf: too little memory: .* for 900 slots of 2048 tokens"
    told(said, lambda: LlamaEngine(file, slots=900).check_memory(), Error)
    told("trained on 2048", lambda: LlamaEngine(file, context=4096))


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_half_of_the_cores_compute(cores: int, threads: int, file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "available_cores", lambda: cores)
    assert LlamaEngine(file).threads == threads
    assert LlamaEngine(file, threads=7).threads == 7


@pytest.mark.parametrize(("written", "pooling"), [(1, "mean"), (2, "cls"), (3, "last")])
def test_the_header_says_how_an_encoder_pools(written: int, pooling: str, file: Path):
    file.write_bytes(header(ARCHITECTURE, *SIZES, number("llama.pooling_type", written)))
    assert LlamaEngine(file, encodes=True).pooling == pooling
    assert LlamaEngine(file, encodes=True, pooling="last").pooling == "last"
    assert LlamaEngine(file).pooling == ""


def test_a_file_without_embeddings_is_named(file: Path, data: dict[str, Path], tmp_path: Path):
    said = r"tiny\.gguf: gives no embeddings by itself: its header names no pooling"
    told(said, lambda: LlamaEngine(file, encodes=True), InputError)
    said = "option 'pooling': most is not allowed, must be mean, cls or last"
    told(said, lambda: LlamaEngine(file, encodes=True, pooling="most"))
    file.write_bytes(header(ARCHITECTURE, *SIZES, number("llama.pooling_type", 4)))
    said = r"tiny\.gguf: gives no embeddings: it is a reranker"
    told(said, lambda: LlamaEngine(file, encodes=True, pooling="mean"), InputError)
    asked = {**data, "out": tmp_path / "out"}
    told("it is a reranker", lambda: esp.answer(**asked, encoder=f"gguf:{file}"), InputError)
    told("setting 'encoder' cannot be hf:folder", lambda: esp.answer(**asked, encoder="hf:folder"))
    told("setting 'retriever' cannot be gguf:", lambda: esp.answer(**asked, retriever=f"gguf:{file}"))


def test_the_missing_libraries_are_named_at_once(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingPart, match=r"a GGUF file needs .*jinja2: pip install .*jinja2$"):
        esp.LlamaCpp(file)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingPart, match=r"needs xllamacpp and jinja2: pip install xllamacpp jinja2$"):
        esp.LlamaCpp(file)


@pytest.mark.parametrize(
    ("before", "after"), [("", "127.0.0.1"), ("a.org", "a.org,127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("*", "*")]
)
def test_a_proxy_of_the_environment_is_not_for_the_loopback(before: str, after: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("no_proxy", before)
    monkeypatch.delenv("NO_PROXY", raising=False)
    engine.bypass_proxy()
    assert os.environ["no_proxy"] == after


def test_sources_are_read():
    source = source_of("gguf:models/a.b.gguf?slots=4&context=512")
    assert source and (source.kind, source.path, source.name) == ("gguf", Path("models/a.b.gguf"), "a.b")
    assert (source.number("slots"), source.number("context"), source.number("threads")) == (4, 512, 0)
    assert source_of("http://localhost/v1") is None and source_of("simulated") is None and source_of(None) is None
    question = source_of("gguf:why?.gguf")
    assert question and question.path == Path("why?.gguf")
    told("unknown option 'slot', allowed: slots, context, threads", lambda: source_of("gguf:a?slot=1"))
    told("names no file", lambda: source_of("gguf:"))
    told("unknown option 'pooling'", lambda: source_of("gguf:a?pooling=mean"))
    encoder = encoder_source_of("gguf:a?pooling=mean")
    assert encoder and encoder.options == {"pooling": "mean"}


def test_a_dry_run_tells_of_models_in_the_process(file, files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(facts, "library", object)
    monkeypatch.setattr(facts, "has_gpu", lambda _: False)
    words = ["answer", *map(str, inputs(files)), "--out", str(tmp_path / "out"), "--model", "simulated", "--dry-run"]
    words += ["--model-for", f"rollout=gguf:{file}?slots=2"]
    assert cli.main([*words, "--json"]) == 0
    [(name, said)] = json.loads(capsys.readouterr().out)["models"].items()
    assert name == f"gguf:{file}?slots=2"
    assert (said["architecture"], said["context"], said["device"]) == ("llama", 2048, "cpu")
    assert said["needed"] == file.stat().st_size + 2 * 2048 * 384 + engine.OVERHEAD  # bytes of a token: see above
    assert said["left"] > said["needed"]
    evaluation = ["eval", "--methods", "decex", *words[1:]]
    assert cli.main([*evaluation, "--json"]) == 0
    [(evaluated, again)] = json.loads(capsys.readouterr().out)["models"].items()
    assert (evaluated, again | {"left": 0}) == (name, said | {"left": 0})
    assert cli.main(evaluation) == 0
    assert f"{name}: llama" in capsys.readouterr().out
    monkeypatch.setattr(engine, "available_memory", lambda: 1 << 20)
    assert cli.main(words) == 1
    assert "tiny.gguf: too little memory" in capsys.readouterr().err


def test_a_dry_run_names_a_missing_library_and_reads_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "config.json").write_text('{"model_type": "llama", "max_position_embeddings": 64}', encoding="utf-8")
    (tmp_path / "tokenizer.json").touch()
    source = source_of(f"hf:{tmp_path}")
    assert source is not None
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPart, match="needs torch and transformers"):
        facts.facts_of(source)
    monkeypatch.setattr(facts, "libraries", lambda: (None, None))
    monkeypatch.setattr(facts, "chosen_device", lambda torch, name: "cpu")
    monkeypatch.setattr(facts, "check_memory", lambda torch, folder, device: (48, None))
    assert facts.facts_of(source) == ("llama", 64, "cpu", 48, None)


@pytest.mark.parametrize("model", ["gguf:nowhere.gguf", "hf:nowhere"])
def test_a_run_names_what_is_missing(model: str, data: dict[str, Path], tmp_path: Path):
    with pytest.raises(InputError, match="nowhere"):
        esp.answer(**data, model=model, out=tmp_path / "out")


def test_the_files_content_is_the_models_identity(file: Path, data: dict[str, Path], tmp_path: Path):
    with pytest.raises(ValueError, match="model-revision"):
        esp.answer(**data, out=tmp_path / "out", model=f"gguf:{file}", model_revision="mine")
    same = file.with_name("other")
    same.mkdir()
    (same / file.name).write_bytes(file.read_bytes())
    assert LlamaEngine(file).revision == LlamaEngine(same / file.name).revision
    file.write_bytes(header(ARCHITECTURE, *SIZES, number("llama.x", 1)))
    assert LlamaEngine(file).revision != LlamaEngine(same / file.name).revision


def test_thinking_reaches_the_server_of_a_file(file, data, tmp_path, monkeypatch):
    class Told(Exception):
        pass

    def part(*given: Any, thinking: str, **more: Any) -> None:
        raise Told(thinking)

    monkeypatch.setattr(_given._core, "OpenAi", part)
    with pytest.raises(Told, match="off"):
        esp.answer(**data, out=tmp_path / "out", model=f"gguf:{file}", set={"thinking": "off"})


class Template:
    """A tokenizer that shows what its template is told."""

    chat_template = "a template"

    def apply_chat_template(self, messages: Any, **told: Any) -> str:
        return str(told.get("enable_thinking"))


@pytest.mark.parametrize(("thinking", "told"), [("", "None"), ("on", "True"), ("off", "False")])
def test_the_template_of_a_folder_is_told_of_thinking(thinking: str, told: str):
    model = esp.Transformers(object(), Template(), thinking=thinking, load=False)
    assert list(model._texts([esp.Prompt("Who?")])) == [told]


def test_thinking_is_a_part_of_a_folders_identity(tmp_path: Path):
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    plain, thinking = (esp.Transformers(tmp_path, thinking=one, load=False).fingerprint for one in ("", "on"))
    assert thinking == f"{plain}, thinking on"
    for more in ({"thinking": "200"}, {"thinking": "on", "chat": False}):
        with pytest.raises(ValueError, match=r"option 'thinking': .* must be on or off, with a chat template"):
            esp.Transformers(tmp_path, load=False, **more)


def test_memory_is_that_of_the_groups_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A limit of the group or of one around it counts, in both versions of control groups."""
    inner = tmp_path / "job" / "step"
    old = tmp_path / "memory" / "user"
    for group in (inner, old):
        group.mkdir(parents=True)
    (tmp_path / "own").write_text("0::/job/step\n")
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    monkeypatch.setattr(memory, "OWN", tmp_path / "own")
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text("100\n")
    (tmp_path / "job" / "memory.max").write_text("5000\n")
    (tmp_path / "job" / "memory.current").write_text("2000\n")
    assert memory.available_memory() == 3000
    (inner / "memory.max").write_text("1000\n")
    assert memory.available_memory() == 900
    (tmp_path / "own").write_text("3:cpu,memory:/user\n")
    (old / "memory.limit_in_bytes").write_text("700\n")
    (old / "memory.usage_in_bytes").write_text("200\n")
    assert memory.available_memory() == 500


def test_a_home_folder_is_found_behind_the_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    found = source_of("gguf:~/m.gguf?slots=2")
    assert found is not None and found.path == tmp_path / "m.gguf" and found.options == {"slots": "2"}


def test_the_weights_of_a_folder_are_those_that_are_loaded(tmp_path: Path):
    for name in ("optimizer.bin", "training_args.bin", "pytorch_model.bin"):  # a pickle may hold programs
        (tmp_path / name).touch()
    assert folder.weights(tmp_path) == []
    (tmp_path / "model.safetensors").touch()
    assert folder.weights(tmp_path) == [tmp_path / "model.safetensors"]


def test_a_reply_ends_behind_its_first_stop_string():
    assert until_stop("one</a> two</b>", ["</b>", "</a>"]) == ("one</a>", True)
    assert until_stop("one", ["</a>"]) == ("one", False)


def test_every_sample_has_a_seed_of_its_own():
    seeds = {seed_of(esp.Prompt("q", seed=s, sample=i)) for s in range(20) for i in range(20)}
    assert len(seeds) == 400 and max(seeds) < 2**63
