"""A chat template, a program of a stranger, is tried before it is used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..errors import InputError, first_line

TRIAL = """
import itertools, re, resource, sys
try:
    from jinja2.sandbox import ImmutableSandboxedEnvironment as Environment
    for kind, most in ((resource.RLIMIT_CPU, 2), (resource.RLIMIT_AS, 1 << 28)): resource.setrlimit(kind, (most, most))
    text = re.sub(r"{%-?\\s*(end)?generation\\s*-?%}", "", sys.stdin.read())
    made = Environment(extensions=["jinja2.ext.loopcontrols"]).from_string(text)
    pieces = made.generate(messages=[{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    sys.exit(any(size > 1 << 20 for size in itertools.accumulate(map(len, pieces))))
except (MemoryError, OverflowError, RecursionError): sys.exit(1)
except Exception: pass  # who uses it says so
"""
"""Whether it writes a question within 2 s, 256 MiB, Python's depth and 1 MiB."""


def check_templates(templates: object, where: object) -> None:
    """Raises InputError for a template that needs more, of one text or of several by name."""
    for text in templates.values() if isinstance(templates, Mapping) else [templates]:
        if isinstance(text, str) and not is_small(text):
            raise InputError(f"{where}: its chat template needs too much time, memory or text")


def in_template(tokenizer: Any, turns: Sequence[Mapping[str, Any]], name: str, **told: Any) -> str:
    """A conversation in a tokenizer's chat template. Raises InputError where that fails."""
    try:
        return str(tokenizer.apply_chat_template(turns, tokenize=False, **told))
    except Exception as error:  # whatever a template does
        raise InputError(f"the chat template of '{name}' refuses a conversation: {first_line(error)}") from None


@cache
def is_small(text: str) -> bool:
    trial = [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{TRIAL}"]
    return subprocess.run(trial, input=text.encode(errors="replace"), stderr=subprocess.DEVNULL).returncode == 0
