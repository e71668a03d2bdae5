"""Grammars of all prompts, as llguidance reads them, and how they reach a model."""

import json
import random
from pathlib import Path

import espalier as esp
import pytest
from conftest import ModelServer, completion, espalier, good, inputs, needs_journal, refused, sensible
from espalier import _core, parts

llguidance = pytest.importorskip("llguidance")

METHODS = _core.method_names()
END = 256


def purposes(method: str) -> list[str]:
    return [purpose for purpose, *_ in _core.method_prompts(method)]


class Bytes:
    """A tokenizer whose tokens are the bytes."""

    eos_token_id = bos_token_id = END
    tokens = (*(bytes([byte]) for byte in range(256)), b"<end>")
    special_token_ids = (END,)

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


TOKENIZER = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()))


def matcher(grammar: str, dialect: str = "gbnf"):
    made = llguidance.LLMatcher(TOKENIZER, llguidance.grammar_from(dialect, grammar))
    assert not made.is_error(), made.get_error()
    return made


def fits(made, text: str) -> bool:
    data = list(text.encode())
    made.reset()
    return made.validate_tokens(data) == len(data) and made.consume_tokens(data) and made.is_accepting()


def spoken(made, rng: random.Random, most: int = 4000) -> str:
    """A random text of the grammar. It takes the nearest end after a while."""
    made.reset()
    text = bytearray()
    while not made.is_stopped() and len(text) < most:
        mask = made.compute_bitmask()
        allowed = [i for i in range(END + 1) if mask[i // 8] >> (i % 8) & 1]
        if END in allowed and (len(text) > 60 or rng.random() < 0.1):
            break
        ascii_ones = [i for i in allowed if i < 128 and (i >= 32 or i == 10)]
        marks = [i for i in ascii_ones if chr(i) in "<>/answerchquestionSFQA:()0123456789.,"]
        byte = rng.choice(marks if marks and rng.random() < 0.6 else ascii_ones)
        assert made.consume_token(byte)
        text.append(byte)
    return text.decode()


@pytest.mark.parametrize("name", METHODS)
def test_every_grammar_is_one_in_each_dialect_and_means_the_same(name):
    rng = random.Random(name)
    for purpose in purposes(name):
        given = {
            dialect: parts.grammar(name, purpose, max_tokens=40, dialect=dialect)
            for dialect in ("gbnf", "lark", "regex", "json_schema")
        }
        made = {dialect: matcher(text, dialect) for dialect, text in given.items()}
        for source, other in (("gbnf", "lark"), ("lark", "gbnf"), ("gbnf", "regex")):
            for _ in range(3):
                text = spoken(made[source], rng)
                assert fits(made[source], text) == fits(made[other], text), (purpose, source, text)


def test_a_purpose_and_a_dialect_that_nobody_knows_are_named():
    with pytest.raises(ValueError, match="decex has no purpose 'rolout', did you mean 'rollout'"):
        parts.grammar("decex", "rolout")
    with pytest.raises(ValueError, match="option 'dialect' is bnf, allowed: gbnf, lark, regex, json_schema"):
        parts.grammar("decex", "rollout", dialect="bnf")
    with pytest.raises(ValueError, match="option 'max_tokens' is 0"):
        parts.grammar("decex", "rollout", max_tokens=0)


def test_a_prompt_shows_its_grammar_and_its_key_depends_on_it():
    plain, yes = esp.Prompt("q"), esp.Prompt("q", grammar='root ::= "yes"')
    assert (plain.grammar, yes.grammar) == ("", 'root ::= "yes"')
    assert plain.key != yes.key


@needs_journal
def test_the_command_asks_probes_and_constrains(files: Path, tmp_path: Path):
    def reply(request):
        return completion(sensible(request) if "structured_outputs" in request else "I <b>think</b> so.")

    with ModelServer(reply, owner="vllm") as server:
        command = ["answer", *inputs(files), "--limit", 1, "--model", server.url, "--model-name", "m"]
        good(*command, "--out", tmp_path / "auto")
        record = (tmp_path / "auto" / "run.json").read_text()
        assert json.loads(record)["options"]["sampling.rollout.constrain"] == "on" and record.count('"probes":') == 1
        probes = [request for request in server.requests if "structured_outputs" not in request]
        assert len(probes) == 2 * 2  # of rollout and forced_answer, none of the first two can be read
        summary = json.loads((tmp_path / "auto" / "summary.json").read_text())
        # The third reply is under the grammar.
        assert {(one["calls"], one["readable"]) for one in summary["probes"].values()} == {(3, 1)}
        assert espalier(*command, "--constrain", "off", "--out", tmp_path / "off").returncode == 4
    assert "never" in refused(2, *command, "--constrain", "never", "--out", tmp_path / "bad")
