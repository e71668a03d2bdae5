"""The command `espalier`."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from . import _core, gone
from .commands import options
from .commands.shared.config import with_config
from .commands.shared.parser import EXIT_CODES, Parser, add_command
from .datasets import conversion
from .doctor.inputs import distribution
from .errors import Error, InputError, MissingPart, PolicyError, StoreError
from .io.files import naming
from .io.terminal import say, say_error

NAMES = (
    *("expand", "answer", "eval", "report", "batch", "world", "questions", "merge", "rescore", "annotate", "export"),
    *("serve", "journal", "train", "index", "options", "prompts", "doctor"),
)
COMMANDS = {name: import_module(f".commands.{name}", __package__) for name in NAMES}


def make_parser() -> Parser:
    about = "Reasoning trees for retrieval-augmented generation."
    parser = Parser(prog="espalier", description=about, codes=EXIT_CODES)
    parser.add_argument("--version", action="store_true", help="version, compiler, and the parts of this build")
    also = "`espalier methods` lists the methods, with what each asks and makes."
    commands = parser.add_subparsers(title="commands", description=also, dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.add_options(add_command(commands, name, command.SUMMARY, command.EXAMPLES))
    return parser


def print_version() -> None:
    info = _core.build_info()
    say(f"espalier {info['version']}, {info['compiler']}, Python {sys.version.split()[0]}")
    say(f"  imported from: {distribution()}")
    present = [name for name, left_out in info["parts"].items() if left_out is None]
    say("  parts: " + (", ".join(present) or "none"))
    say(*(f"  left out: {name} ({why})" for name, why in info["parts"].items() if why is not None))


def run(argv: Sequence[str]) -> int:
    parser = make_parser()
    if words := gone.gone_command(argv):
        parser.error(words)
    if argv[:1] == ["methods"]:
        return options.run(options.methods_parser().parse_args(argv[1:]))
    arguments = parser.parse_args(with_config(parser, argv))
    if arguments.version:
        print_version()
        return 0
    if arguments.command is None:
        parser.error("which command? `espalier --help` lists them")
    with gone.naming():
        return int(COMMANDS[arguments.command].run(arguments))


def told(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return "too little memory" if isinstance(error, MemoryError) else str(error)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    streams = (one or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") for one in (sys.stdout, sys.stderr))
    sys.stdout, sys.stderr = streams  # instead of None, where one was closed
    try:
        code = run(arguments)
        with naming("standard output"):
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        say_error("interrupted. Run the same command again to go on")
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        return 0
    except (ValueError, Error, OSError, MemoryError) as error:
        if os.environ.get("ESPALIER_DEBUG") == "1":
            raise
        say_error(told(error))
        file = str(error).partition(":")[0]
        if isinstance(error, InputError) and arguments[:1] != ["questions"] and (hint := conversion(file)):
            say(f"  {hint}", to=sys.stderr)
        if isinstance(error, (InputError, StoreError, OSError)):
            return 3
        return 2 if isinstance(error, (ValueError, MissingPart, PolicyError)) else 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:  # nor will the end of the process say so
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
