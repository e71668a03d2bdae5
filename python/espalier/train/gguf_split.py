"""How tokenizers split a text before merges, by llama.cpp's names of the ways (`tokenizer.ggml.pre`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputError

Step = dict[str, Any]
"""A pre-tokenizer as tokenizer.json has it."""

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""That of Llama 3 (with {1,3} in the gap) and of Qwen 2 (with nothing)."""


def isolated(**pattern: str) -> Step:
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def in_turn(*steps: Step) -> Step:
    return {"type": "Sequence", "pretokenizers": list(steps)}


BYTES: Step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
WORDS: Step = BYTES | {"use_regex": True}
SPLITS: dict[str, Step] = {
    "llama-bpe": in_turn(isolated(Regex=PATTERN % "{1,3}"), BYTES),
    "qwen2": in_turn(isolated(Regex=PATTERN % ""), BYTES),
    "smollm": in_turn({"type": "Digits", "individual_digits": True}, WORDS),
    "gpt-2": WORDS,
}
MICRO = in_turn(isolated(Regex="</?[a-z_]+>"), isolated(String="\n"), WORDS)
"""A micro model's, which is `gpt-2` for llama.cpp, because no merge of its tokens crosses the end of a line."""


def essence(step: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """The steps of a pre-tokenizer without what changes no token."""
    if step is None:
        return ()
    kind = step["type"]
    if kind == "Sequence":
        return tuple(part for one in step["pretokenizers"] for part in essence(one))
    if kind == "Split":
        [pattern] = step["pattern"].values()
        return ((kind, pattern, step["behavior"], step["invert"]),)
    names = {"ByteLevel": ("add_prefix_space", "use_regex"), "Digits": ("individual_digits",)}.get(kind, ())
    return ((kind, *(step[name] for name in names)),)


NAMES = {essence(step): name for name, step in SPLITS.items()} | {essence(MICRO): "gpt-2"}


def name_of_split(described: Mapping[str, Any]) -> str:
    """llama.cpp's name of how the tokenizer of this tokenizer.json splits a text. Raises InputError where it has none.

    llama.cpp leaves out Qwen's NFC normalisation, and takes whole tokens without merges for `llama-bpe` alone.
    """
    name = NAMES.get(essence(described["pre_tokenizer"]), "")
    normaliser = described["normalizer"] and described["normalizer"]["type"]
    whole = bool(described["model"].get("ignore_merges"))
    if not name or whole != (name == "llama-bpe") or normaliser not in (None, "NFC" if name == "qwen2" else None):
        raise InputError(
            f"option 'gguf': the tokenizer splits texts in a way that is unknown here, known are those of "
            f"{', '.join(SPLITS)}"
        )
    return name


def split_by(described: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A tokenizer.json that splits texts in the way of this name. Raises InputError for an unknown one."""
    if name not in SPLITS:
        raise InputError(f"it splits texts by '{name}', which is unknown here, known are {', '.join(SPLITS)}")
    merges = described["model"] | {"ignore_merges": name == "llama-bpe"}
    return {**described, "pre_tokenizer": SPLITS[name], "model": merges}
