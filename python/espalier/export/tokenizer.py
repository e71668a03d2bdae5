"""A tokenizer of the transformers library, and where in a text its tokens and a conversation's turns lie;
and a dialogue as token ids, with labels and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, first_line, needed
from .calls import Reply, schema, user
from .records import Dialogue
from .template import check_templates, in_template

IGNORED = -100
"""The label of a token that is not learned."""


@dataclass(frozen=True)
class Tokens:
    ids: list[int]
    labels: list[int]
    weights: list[float]
    """In the loss; 0 where the label is ignored."""


def tokenised(dialogue: Dialogue, tokenizer: Tokenizer, style: str, own: dict[int, list[int]] | None = None) -> Tokens:
    """In standard style: prompt and completion as they are, and the end-of-text token. Otherwise by the chat template,
    where all assistant turns and their ends are learned. A token is learned if it holds a learned code point.
    Contents whose place is in `own` get these tokens in place of new ones."""
    learned: list[tuple[int, int]] = []
    if style == "standard":
        if not dialogue.one_turn:
            raise ValueError(f"row '{dialogue.origin.id}' is a conversation and has no standard form")
        prompt, completion = (message.content for message in dialogue.messages)
        text = prompt + completion
        contents = [Content(0, len(prompt), 0), Content(len(prompt), len(text), 0)]
        if not text.endswith(tokenizer.eos):
            text += tokenizer.eos
        learned.append((len(prompt), len(text)))
    else:
        text, contents = tokenizer.conversation([message.plain for message in dialogue.messages])
        for i, (message, content) in enumerate(zip(dialogue.messages, contents, strict=True)):
            next_one = contents[i + 1].begin if i + 1 < len(contents) else len(text)
            if message.role == "assistant":
                learned.append((content.begin, tokenizer.end_of_turn(text, content.end, next_one)))
    ids, offsets = pieced(tokenizer, text, contents, own or {}, special=style == "standard")
    last = contents[-1]
    spans = [(last.place(begin), last.place(end), weight) for begin, end, weight in dialogue.weights]
    labels, weights = [], []
    for token, (begin, end) in zip(ids, offsets, strict=True):
        first = next((max(begin, b) for b, e in learned if begin < e and b < end), None)
        labels.append(IGNORED if first is None else token)
        weights.append(0.0 if first is None else next((w for b, e, w in spans if b <= first < e), 1.0))
    return Tokens(ids, labels, weights)


def pieced(
    tokenizer: Tokenizer, text: str, contents: Sequence[Content], own: Mapping[int, list[int]], *, special: bool
) -> tuple[list[int], list[tuple[int, int]]]:
    """Ids and their [begin, end) in a text, some of whose contents have tokens of their `own`."""
    ids: list[int] = []
    offsets: list[tuple[int, int]] = []
    at = 0
    for place in [*sorted(own), None]:
        end = len(text) if place is None else contents[place].begin
        between, spots = tokenizer.encode(text[at:end], special=special and at == 0)
        while place is not None and spots and spots[-1][0] == spots[-1][1]:  # the end of a text, in its middle
            spots.pop(), between.pop()
        ids += between
        offsets += [(begin + at, stop + at) for begin, stop in spots]
        if place is not None:
            at = contents[place].end
            ids += own[place]
            solid = [spot for spot in range(end, at) if not text[spot].isspace()] or [end]  # alike but for &lt;
            seen = 0
            for count in range(1, len(own[place]) + 1):
                now = sum(not point.isspace() for point in tokenizer.decode(own[place][:count]))
                offsets.append((solid[min(seen, len(solid) - 1)], solid[min(max(now - 1, seen), len(solid) - 1)] + 1))
                seen = now
    return ids, offsets


Turn = Mapping[str, Any]


@dataclass(frozen=True)
class Content:
    """Where a turn's content lies in the text of a conversation."""

    begin: int
    end: int
    cut: int
    """Code points that the template strips from the content's beginning."""

    def place(self, at: int) -> int:
        """The place in the text of code point `at` of the content."""
        return min(max(self.begin, self.begin - self.cut + at), self.end)


class Tokenizer:
    """Loads a folder, or a name as transformers is set up to find it. Raises MissingPart, InputError."""

    def __init__(self, name: str) -> None:
        transformers = needed("transformers", "a tokenizer")
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        except Exception as error:  # whatever stands in its files
            raise InputError(f"--tokenizer '{name}': cannot be loaded ({first_line(error)})") from None
        self._named(f"--tokenizer '{name}'", Path(name).name if Path(name).is_dir() else name)

    @classmethod
    def of(cls, loaded: Any, name: str) -> Tokenizer:
        """A tokenizer that is loaded. Raises InputError."""
        made = cls.__new__(cls)
        made._tokenizer = loaded
        made._named(name, name)
        return made

    def _named(self, where: str, name: str) -> None:
        if not getattr(self._tokenizer, "is_fast", False):
            raise InputError(f"{where}: does not say where its tokens lie in a text (it is not a fast one)")
        check_templates(self._tokenizer.chat_template, where)
        self.name = name
        self.eos: str = self._tokenizer.eos_token or ""

    @property
    def loaded(self) -> Any:
        """The tokenizer of the transformers library."""
        return self._tokenizer

    def knows(self, ids: Sequence[int]) -> bool:
        """Whether no token stands for characters that the tokenizer lacks."""
        unknown = self._tokenizer.unk_token_id
        return unknown is None or self._tokenizer.unk_token == self.eos or unknown not in ids

    def decode(self, ids: Sequence[int], *, special: bool = True) -> str:
        """The text of tokens, of its own ones too if `special`. Ids that the tokenizer lacks are no text."""
        known = [id for id in ids if id < len(self._tokenizer)]
        return str(self._tokenizer.decode(known, skip_special_tokens=not special, clean_up_tokenization_spaces=False))

    def encode(self, text: str, *, special: bool) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids and their [begin, end) in code points. `special` adds the tokens that are put around a text."""
        coded = self._tokenizer(text, add_special_tokens=special, return_offsets_mapping=True, verbose=False)
        return list(coded["input_ids"]), [(begin, end) for begin, end in coded["offset_mapping"]]

    def ids(
        self, said: str | Sequence[Turn], *, begin_answer: bool = False, tools: Sequence[Turn] | None = None
    ) -> list[int]:
        """Ids of a text, or of a conversation by the chat template, which shows the schemas of `tools`. `begin_answer`
        adds what opens the assistant's turn."""
        if isinstance(said, str):
            return self.encode(said, special=True)[0]
        return self.encode(self.render(said, begin_answer=begin_answer, tools=tools), special=False)[0]

    def render(self, turns: Sequence[Turn], *, begin_answer: bool = False, tools: Sequence[Turn] | None = None) -> str:
        needed("jinja2", "a chat template")
        if not self._tokenizer.chat_template:
            raise InputError(f"tokenizer '{self.name}' has no chat template, which conversations need")
        shown = [dict(tool) for tool in tools] if tools else None
        said = [dict(turn) for turn in turns]
        return in_template(self._tokenizer, said, self.name, tools=shown, add_generation_prompt=begin_answer)

    def need_tools(self) -> None:
        """Raises InputError if the chat template leaves out what a call of a tool says."""
        call = Reply("", "search", "river through Vienna")
        if call.argument not in self.render([user("a question"), call.message], tools=[schema("search")]):
            raise InputError(f"the chat template of '{self.name}' has no tools: it leaves their calls out")

    def conversation(self, turns: Sequence[Turn]) -> tuple[str, list[Content]]:
        """The text of a conversation and the place of each turn's content, found through marks in the contents' stead,
        so that no content can be taken for another or for the template's own words."""
        marks = [f"\ue000{i}\ue001" for i in range(len(turns))]
        frame = self.render([{**turn, "content": mark} for turn, mark in zip(turns, marks, strict=True)])
        wanted = self.render(turns)
        for strip in (False, True):
            text, contents, rest = "", [], frame
            for turn, mark in zip(turns, marks, strict=True):
                before, found, rest = rest.partition(mark)
                content = turn["content"].strip() if strip else turn["content"]
                begin = len(text) + len(before)
                cut = len(turn["content"]) - len(turn["content"].lstrip()) if strip else 0
                text += before + content
                contents.append(Content(begin, begin + len(content), cut))
                if not found:
                    break
            else:
                if text + rest == wanted:
                    return wanted, contents
        raise InputError(f"the chat template of '{self.name}' rewrites what is said; tokens cannot be traced to turns")

    def end_of_turn(self, text: str, at: int, before: int) -> int:
        """The end of the first special token that lies in [at, before), or `at`."""
        special = [token for token in self._tokenizer.all_special_tokens if token]
        ends = [(found, found + len(t)) for t in special if (found := text.find(t, at, before)) >= 0]
        return min(ends)[1] if ends else at
