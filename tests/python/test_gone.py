"""What 0.2.0 had and is gone: one line says so, and what to use."""

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import espalier, expanded, told
from espalier import _core, gone
from espalier.cli import COMMANDS, main, make_parser
from espalier.problem import mcts
from espalier.runs.job import check, try_prompts
from espalier.runs.settings_table import SETTINGS


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
    told(f"^setting {said}", lambda: esp.expand(questions="q", corpus="c", out="o", swift_trees=2))
    told(f"^option {said}", lambda: esp.expand(questions="q", corpus="c", out="o", set={"swift_trees": 2}))
    told(f"^option {said}", lambda: esp.Method("decex", set={"swift_trees": 2}))
    told(f"^DecExRag: option {said}", lambda: esp.DecExRag(swift_trees=2), TypeError)
    told(rf"^World\(\): option {said}", lambda: esp.World(swift_trees=2), TypeError)
    told("^DecExRag: unknown option 'swifter'", lambda: esp.DecExRag(swifter=2), TypeError)


def test_a_module_needs_no_import_of_its_own():
    words = "import espalier as esp; print(esp.problem.mcts.__name__, esp.eval.__name__, 'eval' in dir(esp))"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout == "mcts espalier.eval False\n"


def test_a_name_that_is_gone_is_said_to_be(older: None):
    said = r"espalier\.swift is gone since 0\.3\.0: `espalier\.run`"
    told(said, lambda: esp.swift, ImportError)
    with pytest.raises(ImportError, match=said):
        from espalier import swift  # noqa: F401
    with pytest.raises(ImportError, match=r"espalier\.tracking\.spans is gone since 0\.3\.0"):
        from espalier.tracking import spans  # noqa: F401
    for name, said in (("swifter", ""), ("AirRAG", ", did you mean 'AirRag'"), ("Mcts", ", write `from espalier.sea")):
        said = f"^module 'espalier' has no attribute '{name}'{said}"
        told(said, lambda name=name: getattr(esp, name), AttributeError)
    said = r"espalier\.runs\.Progress is gone since 0\.3\.0: `from espalier\.parts"
    told(said, lambda: importlib.import_module("espalier.runs").Progress, ImportError)
    said = r"^mcts\(\): option 'selection' is gone since 0\.3\.0: select="
    told(said, lambda: mcts(object(), [0], len, selection=len), TypeError)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"server": "gateway"}, "server=gateway"),
        ({"retriever": "dense:vectors.bin"}, "retriever=dense:vectors.bin"),
        ({"set": {"curtail": "kl_lucb"}}, "curtail=kl_lucb"),
        ({"reranker": "http://127.0.0.1:9/score?name=m"}, "url=http://127.0.0.1:9/score"),
        ({"method": "decouple", "set": {"diversity": "token_jaccard"}}, "diversity=token_jaccard"),
    ],
)
def test_a_value_that_is_gone_is_said_to_be(files: Path, tmp_path: Path, more: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=f"^{said} is gone since 0.3.0: "):
        world = {"questions": files / "questions.jsonl", "corpus": files / "corpus.jsonl"}
        esp.expand(**world, **{"model": "simulated"} | more, out=tmp_path / "o")


def test_where_a_name_still_lives_elsewhere_only_what_lost_it_is_told(files, tmp_path, capsys):
    said = "option 'rows' is gone since 0.3.0: "
    rows = {"set": {"rows": "all"}}
    told(f"^{said}form=policy", lambda: esp.Method("decex", **rows))
    told(f"^{said}`export --format traces.trl`", lambda: check("expand", {"method": "decouple", **rows}))
    told(f"^{said}form=policy", lambda: try_prompts({"method": "decex", **rows}))
    told(f"^DecExRag: {said}form=policy", lambda: esp.DecExRag(rows="all"), TypeError)
    said = "option 'select' is gone since 0.3.0: choice"
    told(f"^AirRag: {said}, with the same", lambda: esp.AirRag(select="refine"), TypeError)
    told(f"^{said}", lambda: check("answer", {"method": "airrag-lite", "set": {"select": "refine"}}))
    for name in ("rounds", "normalise", "metric", "api"):
        told(f"^unknown option '{name}' of decex", lambda name=name: esp.Method("decex", set={name: 1}))
    said = r"^Uct\(\): option 'normalise' is gone since 0.3.0"
    told(said, lambda: esp.search.Uct(normalise="minmax"), TypeError)
    told("^option 'thinking' is one of runs with a folder", lambda: esp.Method("direct", set={"thinking": "on"}))
    for name, instead in (("protocol", "protocol=tools"), ("thinking", "thinking=on")):
        said = f"^setting '{name}' is gone since 0.3.0: --set {instead}"
        told(said, lambda name=name: check("expand", {name: "tools"}))
    for line in ("answer --api=chat", "expand --protocol=a", "train rft --rounds=2", "index build --vectors=float16"):
        with pytest.raises(SystemExit):
            main(line.split())
        assert " is gone since 0.3.0: " in capsys.readouterr().err
    expanded(files, tmp_path, limit=1)
    told("^annotation 'rollouts' is gone since 0.3.0: curtail=none", lambda: esp.annotate(tmp_path, {"rollouts": None}))


def commands(parser: Any) -> Iterator[tuple[str, str]]:
    """Every option of every command, with the command."""
    for action in parser._actions:
        yield from ((parser.prog, option) for option in action.option_strings)
        if isinstance(action.choices, dict):
            for one in action.choices.values():
                yield from commands(one)


def test_nothing_is_said_to_be_gone_that_is_there():
    assert not COMMANDS.keys() & gone.COMMANDS.keys()
    of_methods = {method: _core.method_options(method) for method in _core.method_names()}
    living = {row[0] for rows in of_methods.values() for row in rows} | SETTINGS.keys()
    assert not living & gone.OPTIONS.keys()
    of_commands = list(commands(make_parser()))
    assert len(of_commands) > 300
    assert not [(prog, option) for prog, option in of_commands if gone.instead_of(option, prog)]
    for place, _, name in (key.rpartition(".") for key in gone.OPTIONS if key.count(".") == 1):
        if place in of_methods:
            assert name not in [row[0] for row in of_methods[place]]
        elif hasattr(_core, place):
            assert f" {name}: " not in getattr(_core, place).__init__.__doc__
    for chosen in gone.VALUES:
        name, _, value = chosen.partition("=")
        choices = [row[2] for rows in of_methods.values() for row in rows if row[0] == name]
        choices += [", ".join(SETTINGS[name].choices)] if name in SETTINGS else []
        assert choices or name == "url"
        assert not [one for listed in choices for one in listed.split(", ") if fnmatchcase(one, value)]
    for name in gone.NAMES:
        module, _, own = name.rpartition(".")
        assert own not in vars(importlib.import_module(module))
    sentences = [*gone.COMMANDS.values(), *gone.OPTIONS.values(), *gone.VALUES.values(), *gone.NAMES.values()]
    assert all(re.fullmatch(r"\S[^\n]*[^.\s]", sentence) for sentence in sentences)
