"""What a run's training rows say, whatever the method that wrote them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    role: str
    """system, user, assistant or tool; documents are said by the tool."""
    content: str
    value: float | None = None
    """What a value model should say of the dialogue after `value_at` code points of the content."""
    value_at: int | None = None

    @property
    def plain(self) -> dict[str, str]:
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True)
class Origin:
    """Where a row comes from."""

    id: str
    tree: str
    nodes: tuple[int, ...]
    method: str = ""
    """The method that wrote the row; "" = the row does not say."""
    purpose: str = ""
    """The purpose of the prompt that it teaches, among those of the method; "" = the row does not say."""

    @property
    def columns(self) -> dict[str, object]:
        """The columns that identify a row in its run. Every trainer here drops or ignores them."""
        return {"id": self.id, "meta": {"tree": self.tree, "nodes": list(self.nodes)}}


@dataclass(frozen=True)
class Dialogue:
    """A conversation whose assistant is to be learned."""

    origin: Origin
    messages: tuple[Message, ...]
    """The last is the assistant's."""
    weights: tuple[tuple[int, int, float], ...] = ()
    """[begin, end) in code points of the last message and what a token there weighs in the loss; 1 elsewhere."""
    correct: bool = True
    policy_loss: bool = True
    weight: float = 1.0
    """What the whole row weighs in the loss."""

    @property
    def one_turn(self) -> bool:
        return [message.role for message in self.messages] == ["user", "assistant"]


@dataclass(frozen=True)
class Pair:
    """Two continuations of a text of which one is better."""

    origin: Origin
    prompt: str
    begun: str
    """What the assistant had written of its turn before the two part."""
    chosen: str
    rejected: str
    margin: float | None
    kind: str = ""
    """decision or execution, "" = the row does not say."""
    decision: str = ""
    """What is decided there: termination or retrieval, "" = the row does not say."""


@dataclass(frozen=True)
class Steps:
    """A solution step by step, with what each step is worth."""

    origin: Origin
    prompt: str
    steps: tuple[str, ...]
    values: tuple[float, ...]
    threshold: float
    """The least value of a good step."""


@dataclass(frozen=True)
class Asked:
    """A question with its gold answers."""

    origin: Origin
    question: str
    answers: tuple[str, ...]


Record = Dialogue | Pair | Steps | Asked
