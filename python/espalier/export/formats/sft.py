"""Dialogues whose assistant is learned."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..calls import chat, sharegpt
from ..files import messages_type, meta_type
from ..format import Choices, Columns, Format
from ..records import Dialogue
from ..tokenizer import tokenised
from ..traces.sampled import JOINED, REWRITTEN, sampled_turns

MADE_OF = ("sft", "rft")


def spoken(dialogue: Dialogue, choices: Choices) -> tuple[Sequence[Columns], Columns]:
    """A dialogue's messages, and the column of tools where their actions are calls."""
    if choices.style != "tools":
        return [said.plain for said in dialogue.messages], {}
    said, tools = chat(dialogue)
    return said, {"tools": tools}


def completions(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    if choices.style == "standard":
        if not dialogue.one_turn:
            raise ValueError(f"row '{dialogue.origin.id}' is a conversation and has no standard form")
        prompt, completion = dialogue.messages
        yield {**dialogue.origin.columns, "prompt": prompt.content, "completion": completion.content}
        return
    said, tools = spoken(dialogue, choices)
    for i, message in enumerate(said):  # a row for each turn of the assistant
        if message["role"] == "assistant":
            own = (
                dialogue.origin.columns
                if dialogue.one_turn
                else {**dialogue.origin.columns, "id": f"{dialogue.origin.id}/{i}"}
            )
            yield {**own, "prompt": list(said[:i]), "completion": [message], **tools}


PROMPT_COMPLETION = Format("sft.prompt_completion", ("trl", "openrlhf"), MADE_OF, Dialogue, completions, tools=("trl",))
"""A prompt and its completion: TRL's SFTTrainer, OpenRLHF. A conversation gives one row per turn of the assistant."""


def messages(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    said, tools = spoken(dialogue, choices)
    yield {**dialogue.origin.columns, "messages": said, **tools}


def tags(role: str, content: str, user: str, assistant: str, observation: str) -> dict[str, str]:
    """LLaMA-Factory's names of the parts of a conversation."""
    said = {"role": role, "content": content, "user": user, "assistant": assistant, "observation": observation}
    said |= {"function": "function_call", "system": "system"}
    return {f"{name}_tag": value for name, value in said.items()}


MESSAGES = Format(
    "sft.messages",
    ("trl", "llamafactory"),
    MADE_OF,
    Dialogue,
    messages,
    dataset_info={
        "formatting": "sharegpt",
        "columns": {"messages": "messages"},
        "tags": tags("role", "content", "user", "assistant", "tool"),
    },
    tools=("trl",),
)
"""A conversation, documents in the tool's turns: TRL's SFTTrainer, LLaMA-Factory. The latter is told to read it as
ShareGPT's form with other names, since it adds words of its own to the system's turn in what it takes for OpenAI's."""


def turns(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    messages, tools = spoken(dialogue, choices)
    said = [m for m in messages if m["role"] != "system"]
    if any((m["role"] == "assistant") != (i % 2 == 1) for i, m in enumerate(said)):
        raise ValueError(f"row '{dialogue.origin.id}': its sides do not alternate, which ShareGPT's form asks for")
    yield {
        **dialogue.origin.columns,
        "system": "\n".join(m["content"] for m in messages if m["role"] == "system"),
        "conversations": [sharegpt(dialogue.origin.id, m) for m in said],
        **tools,
    }


TAGS = tags("from", "value", "human", "gpt", "observation")
SHAREGPT = Format(
    "sft.sharegpt",
    ("llamafactory",),
    MADE_OF,
    Dialogue,
    turns,
    suffix="json",
    dataset_info={"formatting": "sharegpt", "columns": {"messages": "conversations", "system": "system"}, "tags": TAGS},
    tools=("llamafactory",),
)
"""A conversation of alternating sides: LLaMA-Factory. Documents are observations, which it keeps out of the loss."""


def instructions(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    for row in turns(dialogue, choices):
        texts = [said["value"] for said in row["conversations"]]
        yield {
            **dialogue.origin.columns,
            "instruction": texts[-2],
            "input": "",
            "output": texts[-1],
            "system": row["system"],
            "history": [texts[i : i + 2] for i in range(0, len(texts) - 2, 2)],
        }


ALPACA = Format(
    "sft.alpaca",
    ("llamafactory",),
    MADE_OF,
    Dialogue,
    instructions,
    suffix="json",
    dataset_info={
        "formatting": "alpaca",
        "columns": {
            "prompt": "instruction", "query": "input", "response": "output", "system": "system", "history": "history"
        },
    },
)  # fmt: skip
"""An instruction and its output, earlier turns as history: LLaMA-Factory. It trains the answers in the history too."""


def verl_schema() -> Any:
    import pyarrow as pa

    return pa.schema([("id", pa.string()), ("meta", meta_type()), ("messages", messages_type())])


VERL = Format("sft.verl", ("verl",), MADE_OF, Dialogue, messages, suffix="parquet", schema=verl_schema)
"""A conversation in Parquet: verl's trainer of conversations."""


def tokens(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    assert choices.tokenizer is not None
    own = None if choices.kept is None else sampled_turns(dialogue, choices.kept, choices.tokenizer)
    if own is None and choices.kept is not None:
        turns = sum(one.role == "assistant" for one in dialogue.messages)
        choices.lost[JOINED if turns < sum(map(bool, dialogue.origin.nodes)) else REWRITTEN] += 1
        return
    text = tokenised(dialogue, choices.tokenizer, choices.style, own)
    yield {**dialogue.origin.columns, "input_ids": text.ids, "labels": text.labels, "loss_weights": text.weights}


def tokens_schema() -> Any:
    import pyarrow as pa

    ids = pa.list_(pa.int64())
    columns = [("input_ids", ids), ("labels", ids), ("loss_weights", pa.list_(pa.float64()))]
    return pa.schema([("id", pa.string()), ("meta", meta_type()), *columns])


TOKENS = Format(
    "sft.tokens", ("trl",), MADE_OF, Dialogue, tokens, suffix="parquet", schema=tokens_schema, needs_tokenizer=True
)
"""Token ids with labels and weights in Parquet. TRL's SFTTrainer takes ids and labels, weights need a collator."""


SFT = (PROMPT_COMPLETION, MESSAGES, TOKENS, SHAREGPT, ALPACA, VERL)
