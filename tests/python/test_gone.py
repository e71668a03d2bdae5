"""What 0.2.0 had and is gone: one line says so, and what to use."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import espalier
from espalier import gone
from espalier.cli import COMMANDS, main


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option and a name that were there."""
    monkeypatch.setitem(gone.OPTIONS, "swift_trees", "more questions in flight")
    monkeypatch.setitem(gone.NAMES, "espalier.swift", "`espalier.run`")


@pytest.mark.parametrize("command", gone.COMMANDS)
def test_a_command_that_is_gone_is_said_to_be(command: str):
    done = espalier(*command.split(), "out/run")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"espalier: command '{command}' is gone since 0.3.0: {gone.COMMANDS[command]}\n"


def test_an_option_that_is_gone_is_said_to_be(older: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["expand", "--swift-trees", "2"])
    said = "option '--swift-trees' is gone since 0.3.0: more questions in flight"
    assert ended.value.code == 2 and capsys.readouterr().err == f"espalier expand: {said}\n"
    (tmp_path / "c.json").write_text('{"swift-trees": 2}')
    assert main(["expand", "--config", str(tmp_path / "c.json")]) == 3
    assert "key 'swift-trees' is gone since 0.3.0: more questions" in capsys.readouterr().err


def test_a_setting_and_a_keyword_that_are_gone_are_said_to_be(older: None):
    said = "'swift_trees' is gone since 0.3.0: more questions in flight"
    with pytest.raises(ValueError, match=f"^setting {said}"):
        esp.expand(questions="q", corpus="c", out="o", swift_trees=2)
    for call in (lambda: esp.expand(questions="q", corpus="c", out="o", set={"swift_trees": 2}),
                 lambda: esp.Method("decex", set={"swift_trees": 2})):  # fmt: skip
        with pytest.raises(ValueError, match=f"^option {said}"):
            call()
    with pytest.raises(TypeError, match=f"^DecExRag: option {said}"):
        esp.DecExRag(swift_trees=2)
    with pytest.raises(TypeError, match=f"^World\\(\\): option {said}"):
        esp.World(swift_trees=2)
    with pytest.raises(TypeError, match="DecExRag: unknown option 'swifter'"):
        esp.DecExRag(swifter=2)


def test_a_name_that_is_gone_is_said_to_be(older: None):
    said = r"espalier\.swift is gone since 0\.3\.0: `espalier\.run`"
    with pytest.raises(ImportError, match=said):
        esp.swift  # noqa: B018
    with pytest.raises(ImportError, match=said):
        from espalier import swift  # noqa: F401
    with pytest.raises(ImportError, match=r"espalier\.tracking\.spans is gone since 0\.3\.0"):
        from espalier.tracking import spans  # noqa: F401
    with pytest.raises(AttributeError, match="has no attribute 'swifter'"):
        esp.swifter  # noqa: B018


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"server": "gateway"}, "server=gateway"),
        ({"retriever": "dense:vectors.bin"}, "retriever=dense:"),
        ({"method": "decouple", "set": {"diversity": "token_jaccard"}}, "diversity=token_jaccard"),
    ],
)
def test_a_value_that_is_gone_is_said_to_be(files: Path, tmp_path: Path, more: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=f"^{said} is gone since 0.3.0: "):
        world = {"questions": files / "questions.jsonl", "corpus": files / "corpus.jsonl"}
        esp.expand(**world, **{"model": "simulated"} | more, out=tmp_path / "o")


def test_nothing_is_said_to_be_gone_that_is_there():
    assert not COMMANDS.keys() & gone.COMMANDS.keys()
    for name in gone.NAMES:
        module, _, own = name.rpartition(".")
        assert own not in vars(importlib.import_module(module))
    sentences = [*gone.COMMANDS.values(), *gone.OPTIONS.values(), *gone.VALUES.values(), *gone.NAMES.values()]
    assert all(re.fullmatch(r"\S[^\n]*[^.\s]", sentence) for sentence in sentences)
