"""`espalier prompts`: a method's prompts, and the check of a folder of one's own."""

import argparse
from pathlib import Path
from typing import Any

from ..doctor.finding import tell
from ..doctor.prompts import MethodPrompt, check_prompts, method_prompts, write_prompts
from ..io.terminal import say, say_json
from .shared.parser import add_command
from .shared.run_options import add_method_option, pairs

SUMMARY = "Show a method's prompts, and check a folder of your own."
EXAMPLES = ()


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = add_command(
        actions,
        "show",
        "Print a method's built-in prompts, or write them as a folder that --prompts takes.",
        ["espalier prompts show --method decex", "espalier prompts show --method decex --set shots=2 --out my-prompts"],
    )
    add_method_option(show)
    show.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of the method, such as shots=2"
    )
    show.add_argument("--out", metavar="DIR", help="write each prompt to DIR/PURPOSE.txt instead")
    check = add_command(
        actions,
        "check",
        "Check a folder of prompts: names, slots, marks, and placeholders that a model could copy.",
        ["espalier prompts check my-prompts --method decex"],
    )
    check.add_argument("folder", metavar="DIR", help="holds PURPOSE.txt for each prompt that is replaced")
    add_method_option(check)


def run(arguments: argparse.Namespace) -> int:
    return {"show": _show, "check": _check}[arguments.action](arguments)


def _show(arguments: argparse.Namespace) -> int:
    prompts = method_prompts(arguments.method, pairs("--set", arguments.set, "OPTION=VALUE"))
    if arguments.out:
        write_prompts(Path(arguments.out), prompts)
    if arguments.json:
        say_json([as_json(prompt) for prompt in prompts])
    elif arguments.out:
        say(f"{arguments.out}: {len(prompts)} prompts of {arguments.method}")
    else:
        say(*"\n".join(as_text(prompt) for prompt in prompts).removesuffix("\n").split("\n"))
    return 0


def as_json(prompt: MethodPrompt) -> dict[str, Any]:
    returns = [{"role": role, "open": open, "close": close} for role, open, close in prompt.marks]
    return {"purpose": prompt.purpose, "slots": prompt.slots, "returns": returns, "text": prompt.text}


def as_text(prompt: MethodPrompt) -> str:
    marks = ", ".join(open.strip() + close.strip() for _, open, close in prompt.named) or "the whole reply"
    head = f"==> {prompt.purpose}.txt   slots: {', '.join(prompt.slots)}   returns: {marks}"
    return f"{head}\n{prompt.text}"


def _check(arguments: argparse.Namespace) -> int:
    return 2 if tell(check_prompts(Path(arguments.folder), arguments.method), as_json=arguments.json) else 0
