"""What a model server can do beyond answering: asked of it by one request each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._core import OpenAi, Prompt
from ..errors import BackendError
from .finding import Finding, ok, warning

ASKED = {
    "begun answers": Prompt("Count to five.", prefill="1, 2,", max_tokens=4),
    "token ids": Prompt("", ids=[1, 2, 3], max_tokens=4),
}
CONNECTION = ("server", "native_n", "stream", "extra_body", "api_key_file")


def check_capabilities(part: str, url: str, name: str, given: Mapping[str, Any], seconds: float) -> Iterator[Finding]:
    """Of a server that has answered already."""
    if given.get("ca_file") or given.get("proxy"):
        yield warning(part, "was not asked what else it can do", "this check knows no --ca-file and no --proxy")
        return
    chosen = {option: given[option] for option in CONNECTION if option in given}
    model = OpenAi(url, name, timeout=seconds, deadline=seconds, attempts=1, **chosen)
    able = {}
    for what, prompt in ASKED.items():
        try:
            model([prompt])
            able[what] = "yes"
        except BackendError as error:
            able[what] = "no" if error.permanent else "nobody knows, the request failed"
    said = ", ".join(f"{what}: {can}" for what, can in able.items())
    yield ok(part, f"{said} (few methods need them)")
