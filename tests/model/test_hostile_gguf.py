"""Hostile GGUF files: each gives an answer or one typed error, in a process of its own that neither dies nor hangs."""

import math
import random
import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

MODEL = (Path(__file__).parent.parent.parent / "examples/micro/model.gguf").read_bytes()
U32, I32, F32, TEXT, ARRAY, U64, F64 = 4, 5, 6, 8, 9, 10, 12
CODES = {U32: "<I", I32: "<i", F32: "<f", U64: "<Q", F64: "<d"}
ASK = """
import sys
import espalier as esp
try:
    with esp.LlamaCpp(sys.argv[1], slots=1) as model:
        [reply] = model([esp.Prompt("Hi", max_tokens=4)])
        print("answer" if isinstance(reply, esp.Completion) else type(reply).__name__)
except (esp.errors.Error, ValueError) as error:
    print(type(error).__name__)
"""


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def listed(kind: int, count: int, body: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + body


def changed(name: str, kind: int, value: bytes | float | str) -> bytes:
    """The model with a field of another value: the old one keeps its place under another name."""
    packed = value if isinstance(value, bytes) else text(value) if kind == TEXT else struct.pack(CODES[kind], value)
    old = text(name)
    other = MODEL.replace(old, old[:-1] + b"~")  # of the same length
    count = struct.unpack_from("<Q", MODEL, 16)[0]
    field = old + struct.pack("<I", kind) + packed
    filler = text("x") + struct.pack("<I", TEXT) + text("-" * (-(len(field) + 21) % 32))  # what follows stays aligned
    return other[:16] + struct.pack("<Q", count + 2) + field + filler + other[24:]


def hostile() -> Iterator[tuple[str, bytes]]:
    sizes = ("context_length", "embedding_length", "block_count", "attention.head_count", "attention.head_count_kv")
    others = ("feed_forward_length", "rope.dimension_count", "vocab_size", "expert_count", "expert_used_count")
    for name in sizes + others:
        for value in (0, 1, 2**31 - 1, 2**31, 2**32 - 1):
            yield f"{name}={value}", changed(f"llama.{name}", U32, value)
        wrong = ((I32, -1), (U64, 2**63), (F32, math.nan), (F64, math.inf), (TEXT, "many"), (ARRAY, listed(U32, 0)))
        for kind, value in wrong:
            yield f"{name}={value!r}", changed(f"llama.{name}", kind, value)
    for value in (math.nan, math.inf, -1.0):
        yield f"epsilon={value}", changed("llama.attention.layer_norm_rms_epsilon", F32, value)
    for alignment in (0, 1, 3, 2**31):
        yield f"alignment={alignment}", changed("general.alignment", U32, alignment)
    lists = {"huge": listed(U32, 2**62), "of lists": listed(ARRAY, 9, listed(ARRAY, 9) * 9)}
    lists |= {"texts": listed(TEXT, 2**62), "of texts": listed(TEXT, 1, text("x"))}
    for name, value in lists.items():
        yield f"list {name}", changed("llama.attention.head_count_kv", ARRAY, value)
    for count in (0, 2**31, 2**64 - 1):
        yield f"{count} fields", MODEL[:16] + struct.pack("<Q", count) + MODEL[24:]
        yield f"{count} tensors", MODEL[:8] + struct.pack("<Q", count) + MODEL[16:]
    templates = {
        "deep": "{{ " + "(" * 50_000 + "1" + ")" * 50_000 + " }}",
        "blocks": "{% if 1 %}" * 20_000 + "{% endif %}" * 20_000,
        "long": "{{ 1" + " + 1" * 50_000 + " }}",
        "endless": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "output": "{% for a in range(99999) %}" + "x" * 99 + "{% endfor %}",
        "memory": "{{ 'x' * 99999999999 }}",
        "recursion": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "unclosed": "{% if x %}",
    }
    for name, template in templates.items():
        yield f"template {name}", changed("tokenizer.chat_template", TEXT, template)
    yield "no tokenizer", changed("tokenizer.ggml.model", TEXT, "none")
    yield "no architecture", changed("general.architecture", TEXT, "")
    drawn = random.Random(7)
    for number in range(30):
        damaged = bytearray(MODEL[: drawn.randrange(24, len(MODEL))] if number % 5 == 0 else MODEL)
        for _ in range(drawn.choice((1, 4, 32))):
            damaged[drawn.randrange(8, min(900, len(damaged)))] = drawn.choice((0, 127, 128, 255))
        yield f"mutation {number}", bytes(damaged)


@pytest.mark.parametrize(("name", "content"), [pytest.param(*case, id=case[0]) for case in hostile()])
def test_a_hostile_file_gives_an_answer_or_a_typed_error(name: str, content: bytes, tmp_path: Path):
    (tmp_path / "model.gguf").write_bytes(content)
    command = [sys.executable, "-c", ASK, str(tmp_path / "model.gguf")]
    limited = partial(resource.setrlimit, resource.RLIMIT_AS, (8 << 30, 8 << 30))
    asked = subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limited)
    assert asked.returncode == 0 and asked.stdout.strip(), f"{name}: {asked.returncode} {asked.stderr[-300:]}"
