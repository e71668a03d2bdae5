"""Actions as calls of tools: each action of a method's protocol is a function with one parameter, a string.

A turn of the assistant ends with at most one action, whose text is the call's argument. What stands before it is the
turn's content, without the marks of thoughts. Rows are as runs ask for tools: the same names, the same schemas, and the
same line below a prompt.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import _core
from .records import Dialogue, Origin

BLANKS = " \t\r\n"
BRACKETS = {"(": ")", "[": "]", "{": "}"}


Marks = tuple[str, str]
"""Opening and closing."""


@dataclass(frozen=True)
class Protocol:
    """The part of a method's protocol that its training rows show."""

    actions: Mapping[str, Marks]
    """The roles that a reply may end with."""
    thoughts: tuple[Marks, ...]
    """Around what is thought before an action."""
    purposes: Mapping[str, tuple[str, ...]]
    """The actions that end a reply to each prompt. None of them ends a bare text."""
    usual: tuple[str, ...]
    """Purposes of rows that name none. The first that has a row's actions is taken."""


ACTIONS = ("search", "question", "sub_answer", "answer")
"""Roles that rows teach. Judgements and the like are for other models."""
METHODS: Mapping[str, tuple[tuple[Marks, ...], tuple[str, ...]]] = {
    "decex": ((("<reasoning>", "</reasoning>"), ("<think>", "</think>")), ("rollout",)),
    "decouple": ((), ("step",)),
    "prorag": ((("<step>", "</step>"),), ("step",)),
    "reasonrag": ((), ("reasoning", "evidence")),
}
"""The methods that write rows of dialogues and pairs: their thoughts' marks, and their rows' usual purposes."""


@cache
def protocol_of(method: str) -> Protocol:
    """The protocol of one of METHODS."""
    actions: dict[str, Marks] = {}
    purposes: dict[str, tuple[str, ...]] = {}
    for purpose, _, _, returned in _core.method_prompts(method):
        own = {role: (opening, closing) for role, opening, closing in returned if opening}
        if all(role in ACTIONS for role in own):
            actions |= own
            purposes[purpose] = tuple(own)
    thoughts, usual = METHODS[method]
    return Protocol(actions, thoughts, purposes, usual)


def parameter(role: str) -> str:
    """The name of a function's only parameter."""
    return "query" if role == "search" else role


def schema(role: str) -> dict[str, Any]:
    does = "Looks a query up in the documents." if role == "search" else f"Gives the {role}."
    name = parameter(role)
    parameters = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    return {"type": "function", "function": {"name": role, "description": does, "parameters": parameters}}


@dataclass(frozen=True)
class Reply:
    """A turn of the assistant."""

    thought: str
    role: str | None = None
    """The action that ends it; None = it ends with the thought."""
    argument: str = ""

    @property
    def message(self) -> dict[str, Any]:
        """As a message of the chat API."""
        said: dict[str, Any] = {"role": "assistant", "content": self.thought}
        if self.role is not None:
            function = {"name": self.role, "arguments": {parameter(self.role): self.argument}}
            said["tool_calls"] = [{"type": "function", "function": function}]
        return said


@dataclass(frozen=True)
class Replies:
    """The assistant's turns of a row, and the tools that it is offered."""

    turns: tuple[Reply, ...]
    roles: tuple[str, ...]
    line: str
    """What stands below the row's prompt."""

    @property
    def tools(self) -> str | None:
        """The column `tools`: the functions' schemas as a JSON text, or None where no tool is offered. As a text it is
        taken by every trainer, and no reader of tables fills it up."""
        return json.dumps([schema(role) for role in self.roles]) if self.roles else None


def closed_by_last(text: str, opening: str, closing: str) -> int | None:
    """Where the bracket stands that a text's last character closes."""
    depth = 0
    for i in reversed(range(len(text))):
        depth += (text[i] == closing) - (text[i] == opening)
        if depth == 0:
            return i
    return None


def opened_at(text: str, marks: Marks) -> tuple[bool, int] | None:
    """Where the action begins that ends a text with these marks, and whether the marks surely belong together.

    It is the nearest opening mark before the closing one, as in the search's parser. An opening mark with a bracket
    stands at the beginning of a line, and the text's last character closes the bracket. If the brackets do not match,
    it is the last opening mark at the beginning of a line."""
    opening, closing = marks
    if not text.endswith(closing):
        return None
    if BRACKETS.get(opening[-1]) != closing:
        at = text.rfind(opening, 0, len(text) - len(closing))
        return (True, at) if at >= 0 else None
    lines = "\n" + text
    bracket = closed_by_last(text, opening[-1], closing)
    if bracket is not None and lines[: bracket + 2].endswith("\n" + opening):
        return True, bracket + 1 - len(opening)
    at = lines.rfind("\n" + opening)
    return (False, at) if at >= 0 else None


def read(text: str, roles: Iterable[str], protocol: Protocol) -> Reply:
    """A turn of the assistant, read by the marks of these roles."""
    text = text.strip(BLANKS)
    found = [(*place, role) for role in roles if (place := opened_at(text, protocol.actions[role]))]
    _, at, role = max(found, default=(True, len(text), None))
    thought = text[:at]
    for mark in (mark for marks in protocol.thoughts for mark in marks):
        thought = thought.replace(mark, "")
    thought = thought.strip(BLANKS)
    if role is None:
        return Reply(thought)
    opening, closing = protocol.actions[role]
    return Reply(thought, role, text[at + len(opening) : len(text) - len(closing)].strip(BLANKS))


def tools_line(roles: Sequence[str], protocol: Protocol) -> str:
    parts = [f"{' '.join(protocol.actions[role])} call the tool {role}" for role in roles]
    return f"\nWrite no marks. In place of {', in place of '.join(parts)}.\n" if parts else ""


def replies(origin: Origin, said: Sequence[str]) -> Replies:
    """The turns of the assistant in a row. The row's purpose says which tools it is offered."""
    if origin.method not in METHODS:
        allowed = ", ".join(METHODS)
        raise ValueError(f"row '{origin.id}': its method is '{origin.method}', methods with tools: {allowed}")
    protocol = protocol_of(origin.method)
    if origin.purpose and origin.purpose not in protocol.purposes:
        allowed = ", ".join(protocol.purposes)
        raise ValueError(f"row '{origin.id}': its purpose is '{origin.purpose}', purposes with tools: {allowed}")
    if origin.purpose:
        roles = protocol.purposes[origin.purpose]
        turns = tuple(read(text, roles, protocol) for text in said)
    else:
        turns = tuple(read(text, protocol.actions, protocol) for text in said)
        used = {turn.role for turn in turns} - {None}
        fitting = [named for name in protocol.usual if used <= set(named := protocol.purposes[name])]
        roles = fitting[0] if fitting else tuple(protocol.actions)
    return Replies(turns, roles, tools_line(roles, protocol))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def chat(dialogue: Dialogue) -> tuple[list[dict[str, Any]], str | None]:
    """A dialogue as messages of the chat API, and the column `tools`."""
    origin, messages = dialogue.origin, dialogue.messages
    made = replies(origin, [m.content for m in messages if m.role == "assistant"])
    turns = iter(made.turns)
    called: str | None = None
    said: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "assistant":
            turn = next(turns)
            called = turn.role
            said.append(turn.message)
        elif message.role == "tool":
            if called is None:
                raise ValueError(f"row '{origin.id}': its documents follow no action")
            said.append({"role": "tool", "name": called, "content": message.content})
            called = None
        elif message.role == "user" and dialogue.one_turn:
            said.append(user(message.content + made.line))
        else:
            said.append(message.plain)
    return said, made.tools


OPEN, CLOSE = "<tool_call>", "</tool_call>"
SIDES = {"user": "human", "assistant": "gpt", "tool": "observation"}


def sharegpt(id: str, message: Mapping[str, Any]) -> dict[str, str]:
    """A message in LLaMA-Factory's form of ShareGPT: a call is a JSON text, between marks if a thought stands before
    it. A `<` in the text is escaped, so that no argument closes the marks."""
    content = message["content"]
    if "tool_calls" not in message:
        return {"from": SIDES[message["role"]], "value": content}
    if OPEN in content:
        raise ValueError(f"row '{id}' holds '{OPEN}' in its text, by which llamafactory finds calls")
    [call] = message["tool_calls"]
    text = json.dumps(call["function"], ensure_ascii=False).replace("<", "\\u003c")
    return {"from": "function_call", "value": f"{content}\n{OPEN}{text}{CLOSE}" if content else text}
