"""Options of a command in a file: read by --config, and written beside what a run leaves."""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from ..._core import Progress
from ...errors import InputError, MissingPart
from ...gone import unknown
from ...io.files import read_text, unique, write_text
from ...runs.progress import ProgressView
from ...runs.settings_table import joined

MAPPINGS = ("set", "model-for")
"""Options that are repeated as NAME=VALUE: a mapping in a file, and the line adds to them."""
NOT_KEPT = (
    *("help", "config", "json", "dry-run", "overwrite", "replay", "track", "allow-failed"),
    *("ray", "shards", "gpus", "shards-to"),
)
"""What does not belong to the run that a file describes."""


def with_config(parser: argparse.ArgumentParser, line: Sequence[str]) -> list[str]:
    """The line with the options of its --config FILE before its own, which therefore win."""
    end, leaf = 0, parser
    while (commands := commands_of(leaf)) and end < len(line) and line[end] in commands:
        leaf = commands[line[end]]
        end += 1
    options = options_of(leaf)
    if "config" not in options:
        return list(line)
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--config")
    try:
        file = finder.parse_known_args(line[end:])[0].config
    except argparse.ArgumentError:  # the command's own parser says so
        return list(line)
    if file is None:
        return list(line)
    own = {word.partition("=")[0].removeprefix("--") for word in line[end:] if word.startswith("--")}
    return [*line[:end], *words_of(Path(file), leaf.prog, options, own), *line[end:]]


def commands_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The commands below a command."""
    return next((one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction)), {})


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Its long options, by their names without the dashes."""
    return {name[2:]: action for name, action in parser._option_string_actions.items() if name.startswith("--")}


def words_of(file: Path, command: str, options: Mapping[str, argparse.Action], own: Iterable[str]) -> list[str]:
    """What a line would say in place of the file. Lists that the line has of its `own` replace the file's.

    Raises InputError that names the file and the key.
    """
    keys = [name for name in options if name not in ("help", "config")]
    words: list[str] = []
    for key, value in read_config(file).items():
        name = key.replace("_", "-")
        if name == "command":
            continue
        if name not in keys:
            raise InputError(f"{file}: {unknown(name, keys, 'key', f'espalier {command}')}")
        listed = isinstance(options[name], argparse._AppendAction)
        if value is None or (listed and name not in MAPPINGS and name in own):
            continue
        words += words_for(f"{file}: key '{key}'", name, options[name], value)
    return words


def words_for(where: str, name: str, action: argparse.Action, value: object) -> list[str]:
    """One key's words."""
    if action.nargs == 0:  # a switch
        if not isinstance(value, bool):
            raise InputError(f"{where}: must be true or false, not {shown(value)}")
        return [f"--{name}"] if value else []
    if name in MAPPINGS:
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: must be a mapping, not {shown(value)}")
        return [f"--{name}={key}={text_of(f'{where}: {key}', part)}" for key, part in value.items() if part is not None]
    if isinstance(action, argparse._AppendAction):
        return [f"--{name}={text_of(where, part)}" for part in (value if isinstance(value, list) else [value])]
    text = json.dumps(value) if name == "extra-body" and not isinstance(value, str) else text_of(where, value)
    try:
        made = action.type(text) if callable(action.type) else text
    except (ValueError, argparse.ArgumentTypeError):
        raise InputError(f"{where}: {shown(value)} is not allowed") from None
    if action.choices is not None and made not in action.choices:
        raise InputError(f"{where}: {shown(value)} is not allowed, allowed: {', '.join(map(str, action.choices))}")
    return [f"--{name}={text}"]


def text_of(where: str, value: object) -> str:
    if isinstance(value, (Mapping, list)) or value is None:
        raise InputError(f"{where}: must be text or a number, not {shown(value)}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_config(file: Path) -> dict[str, Any]:
    """The mapping in a .json file, or in YAML under any other name. Raises InputError."""
    try:
        text = read_text(file, 1 << 20)
        read = json.loads(text, object_pairs_hook=unique) if file.suffix == ".json" else read_yaml(text)
    except (ValueError, RecursionError) as error:
        said = "is nested too deep" if isinstance(error, RecursionError) else error
        raise InputError(f"{file}: {said}") from None
    if not isinstance(read, dict) or not all(isinstance(key, str) for key in read):
        raise InputError(f"{file}: must be a mapping of options to values")
    return read


def read_yaml(text: str) -> object:
    """Raises ValueError for bad YAML, MissingPart without PyYAML."""
    try:
        import yaml
    except ImportError:
        raise MissingPart("YAML needs pyyaml (pip install pyyaml). JSON needs nothing") from None

    class Loader(yaml.SafeLoader):
        """Refuses keys that are there twice, and reads `on`, `off`, `yes` and `no` as texts."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            unique([(str(key.value), None) for key, _ in node.value])
            return super().construct_mapping(node, deep)

    rules = yaml.SafeLoader.yaml_implicit_resolvers
    Loader.yaml_implicit_resolvers = {at: [r for r in rules[at] if at in "tTfF" or "bool" not in r[0]] for at in rules}
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def given(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of a parsed line in the form of a file, without secrets."""
    found: dict[str, Any] = {"command": parser.prog.partition(" ")[2]}
    for name, action in options_of(parser).items():
        value = getattr(arguments, action.dest, None)
        if name in NOT_KEPT or value in (None, []):
            continue
        if action.nargs == 0:
            if value == action.const and value != action.default:
                found[name] = True
        elif name in MAPPINGS:
            found[name] = {key: kept(action, part) for key, _, part in (text.partition("=") for text in value)}
        else:
            found[name] = [kept(action, part) for part in value] if isinstance(value, list) else kept(action, value)
    return found


def kept(action: argparse.Action, value: Any) -> Any:
    """An option's value. Addresses, recognised by the option's help, lose user, password, query and fragment."""
    if not any(word in str(action.metavar) for word in ("URL", "MODEL")) or "://" not in value:
        return value
    secrets = r"([a-z][a-z0-9+.-]*://)(?:[^/?#\s]*@)?([^?#\s,*]*)(?:[?#][^\s,*]*)?"
    return joined(action.dest, value, re.sub(secrets, r"\1\2", value, flags=re.I))


class Recorded(ProgressView):
    """Tells a run's progress on to a view, and writes config.json as soon as the run has accepted its folder."""

    def __init__(self, folder: Path, config: Mapping[str, Any], view: Callable[[Progress], None]) -> None:
        super().__init__()
        self._file, self._config, self.view = folder / "config.json", config, view
        self._written = False

    def __call__(self, progress: Progress) -> None:
        self.write()
        self.view(progress)

    def write(self, *, anew: bool = True) -> None:
        """Writes once. An existing file is kept unless `anew`, for instance for a run that was finished before."""
        if not self._written and (anew or not self._file.exists()):
            write_config(self._file, self._config)
        self._written = True


def write_config(file: Path, config: Mapping[str, Any]) -> None:
    """With every search option, where the run beside it has noted them."""
    record = file.with_name("run.json")
    options = json.loads(read_text(record))["options"] if record.exists() else {}
    resolved = {name: value for name, value in options.items() if value is not None}
    text = json.dumps({**config, "set": {**config.get("set", {}), **resolved}}, ensure_ascii=False, indent=1)
    write_text(file, text + "\n")
