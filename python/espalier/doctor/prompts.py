"""The prompts of a method as texts, and a folder of a user's own, as `--prompts` takes it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from .. import _core
from ..errors import InputError
from ..io.files import read_text
from .finding import Finding, ok, problem, warning

_GENERIC = (
    "a an the one two three your my its their this that these next last first final best short brief simple single "
    "smaller other or and of to in on from for about here is are be it you which what who when where why how "
    "search engine query queries answer answers question questions sub subquestion subanswer evidence fact facts "
    "information document documents passage passages text texts thought thoughts think thinking reasoning reason "
    "step steps plan conclusion sentence sentences word words name number numbers score scores letter choice verdict "
    "candidate over between x y n placeholder content something still unknown missing says say know needed write put "
    "insert lead leads conclude"
)
GENERIC = frozenset(_GENERIC.split())
"""Words that say what belongs between two marks. A text of such words alone is a placeholder."""


@dataclass(frozen=True)
class MethodPrompt:
    """One built-in prompt of a method."""

    purpose: str
    text: str
    slots: list[str]
    """Written `{slot}` in the text. All of them must stand there."""
    marks: list[tuple[str, str, str]]
    """(role, opening mark, closing mark) of each tag that a reply may hold. Marks are empty for a whole reply."""

    @property
    def named(self) -> list[tuple[str, str, str]]:
        """The tags that have marks."""
        return [mark for mark in self.marks if mark[1]]


def method_prompts(method: str, options: Mapping[str, str] | None = None) -> list[MethodPrompt]:
    """The built-in prompts of a method under these options, such as `shots`."""
    return [MethodPrompt(*row) for row in _core.method_prompts(method, list((options or {}).items()))]


def write_prompts(folder: Path, prompts: Sequence[MethodPrompt]) -> None:
    """Writes a folder that `--prompts` takes. Raises ValueError where a file of another text stands in its way."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {folder / f"{prompt.purpose}.txt": prompt.text.encode() for prompt in prompts}
    for file, text in texts.items():
        if file.exists() and read_text(file) != text.decode():
            raise ValueError(f"option 'out': {file} exists and holds another text; name another folder")
    for file, text in texts.items():
        file.write_bytes(text)


def is_placeholder(text: str) -> bool:
    """Whether a text between two marks only says what belongs there: "query", "the answer", "..."."""
    return all(word in GENERIC for word in re.findall(r"\w+", text.lower()))


def quoted(texts: Sequence[str]) -> str:
    return ", ".join(f'"{" ".join(text.split())[:60]}"' for text in texts)


def check_text(file: str, text: str, method: str, prompt: MethodPrompt) -> Iterator[Finding]:
    """What is wrong with the text of one prompt."""
    slots = ", ".join(f"{{{slot}}}" for slot in prompt.slots)
    for slot in prompt.slots:
        if f"{{{slot}}}" not in text:
            yield problem(file, f"lacks the slot {{{slot}}}", f"write {{{slot}}} where its value belongs")
    for name in dict.fromkeys(re.findall(r"\{([a-z_]+)\}", text)):
        if name not in prompt.slots:
            near = get_close_matches(name, prompt.slots, 1)
            advice = f"did you mean {{{near[0]}}}?" if near else f"the slots of this prompt are {slots}"
            yield warning(file, f"{{{name}}} is no slot of this prompt and stays as it is", advice)
    copyable = _core.copyable_texts(method, prompt.purpose, text)
    if placeholders := [piece for piece in copyable if is_placeholder(piece)]:
        empty = " or ".join(open + close.strip() for _, open, close in prompt.named)
        found = f"a model may copy {quoted(placeholders)} as its reply"
        yield problem(file, found, f"leave nothing between the marks, and say before them what belongs there: {empty}")
    if examples := [piece for piece in copyable if not is_placeholder(piece)]:
        found = f"a model may copy {quoted(examples)} as its reply"
        yield warning(file, found, "nothing is to be done if it belongs to a worked example")
    for role, open, _ in prompt.named:
        if open not in text:
            yield warning(file, f"never names the mark {open.strip()} ({role})", "say how the model has to mark it")


def check_prompts(folder: Path, method: str) -> Iterator[Finding]:
    """What a run would make of a folder of prompts: a problem for each thing that stops it or spoils its replies."""
    known = {prompt.purpose: prompt for prompt in method_prompts(method)}
    if not folder.is_dir():
        advice = f"`espalier prompts show --method {method} --out DIR` writes such a folder"
        yield problem(str(folder), "is not a folder of prompts", advice)
        return
    files = sorted(file for file in folder.iterdir() if file.suffix == ".txt")
    for file in files:
        prompt = known.get(file.stem)
        if prompt is None:
            near = get_close_matches(file.stem, known, 1)
            advice = f"did you mean {near[0]}.txt?" if near else f"the prompts of {method} are {', '.join(known)}"
            yield problem(file.name, f"no prompt of {method} has this name", advice)
            continue
        try:
            text = read_text(file, 1 << 20)
        except (OSError, InputError) as error:
            yield problem(
                file.name, str(error).removeprefix(f"{file}: "), "save it as a file of UTF-8, or take it away"
            )
            continue
        findings = list(check_text(file.name, text, method, prompt))
        yield from findings or [ok(file.name, "has every slot and names every mark")]
    if not files:
        yield warning(str(folder), "holds no .txt file, so every prompt stays the built-in one", "name another folder")
    elif missing := [purpose for purpose in known if folder / f"{purpose}.txt" not in files]:
        yield ok("other prompts", f"built-in: {', '.join(missing)}")
