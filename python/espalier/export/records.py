"""What a run's training rows say, whatever the method that wrote them."""

from collections.abc import Iterable
from dataclasses import dataclass, field


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

    @property
    def sides(self) -> tuple[str, str, str]:
        """All that stands before, the better side and the worse one."""
        return self.prompt + self.begun, self.chosen, self.rejected


@dataclass(frozen=True)
class Steps:
    """A solution step by step, with what each step is worth."""

    origin: Origin
    prompt: str
    steps: tuple[str, ...]
    values: tuple[float, ...]
    threshold: float
    """The least value of a good step."""
    parts: tuple[tuple[tuple[str, str], ...], ...] = ()
    """The parts of each step, (kind, text), where the row has them."""


@dataclass(frozen=True)
class Asked:
    """A question with its gold answers."""

    origin: Origin
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Sampled:
    """The tokens that a model sampled for a text, with natural log-probabilities where these are known."""

    ids: list[int]
    logprobs: list[float]
    purpose: str


@dataclass
class TraceNode:
    """What one step of the policy wrote, what the environment answered, or what the policy was asked."""

    parent: int | None
    """Place in the trace's list, which is above its own place. None = it follows the prompt."""
    lead: str
    """What stands before the text and is nobody's: a line end."""
    text: str
    sampled: bool
    """The policy wrote the text."""
    source: int
    """The node of the recorded tree."""
    reward: float | None = None
    """The process reward of a step that the policy wrote. None = it has no score."""
    ends: bool = False
    """The policy ended its turn here."""
    asks: bool = False
    """A prompt of its own. What follows it sees nothing above it."""
    key: tuple[int, int | None, int] | None = None
    """Of a step: the recorded node, the rollout from it (None = the node itself), and the part of what that adds."""
    tokens: Sampled | None = None
    """What was sampled for the step, where the run kept it."""


@dataclass(frozen=True)
class Trace:
    """The branches of one question. Their texts, joined down to a prompt, are what the policy sees and writes."""

    origin: Origin
    question: str
    answers: tuple[str, ...]
    prompt: str
    """Before the first node. "" = the prompts are nodes."""
    nodes: tuple[TraceNode, ...]
    """Parents stand before their children."""
    outcomes: dict[int, float] = field(default_factory=dict)
    """The reward of every leaf, by its place."""
    judged: bool = False
    """Its steps were scored by a process reward model."""
    keeps_tokens: bool = False
    """The run kept the tokens that were sampled."""

    def path(self, leaf: int) -> list[int]:
        """The places from the first node down to a leaf."""
        found: list[int] = []
        at: int | None = leaf
        while at is not None:
            found.append(at)
            at = self.nodes[at].parent
        return found[::-1]


Record = Dialogue | Pair | Steps | Asked | Trace


def reversed_pairs(records: Iterable[Record]) -> set[tuple[str, str, str]]:
    """The sides of the pairs that contradict one another: what one calls better is worse in another one."""
    said = {record.sides for record in records if isinstance(record, Pair) and record.chosen != record.rejected}
    return {(prompt, chosen, rejected) for prompt, chosen, rejected in said if (prompt, rejected, chosen) in said}
