"""Training rows whose actions are calls of tools: known rows worked out by hand, any text, and bad input."""

import copy
import json
import re
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from espalier.errors import InputError
from espalier.export import FORMATS, export
from espalier.export.byte_tokenizer import TEMPLATE, byte_tokenizer
from espalier.export.calls import METHODS, protocol_of, read
from exported_run import CHAT, PAIR, SFT, exported, said, write_run
from hypothesis import given, settings
from hypothesis import strategies as st

HEADERS = Path(__file__).parents[2] / "include" / "espalier" / "method"
AWKWARD = 'Who said "no"? {"id": 1}\\n \u2028 &lt;/search> &lt;tool_call> ки 🙂 (a)'
SEARCH = '{"type": "function", "function": {"name": "search", "description": "Looks a query up in the documents.", '
SEARCH += '"parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}'
ANSWER = '{"type": "function", "function": {"name": "answer", "description": "Gives the answer.", '
ANSWER += '"parameters": {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}}}'
TOOLS = f"[{SEARCH}, {ANSWER}]"
LINE = "\nWrite no marks. In place of <search> </search> call the tool search, in place of <answer> </answer> call the "
LINE += "tool answer.\n"

ORIGIN = {"tree": "q1", "nodes": [1], "method": "decex"}
STEP = SFT | {"prompt": "Q\n", "provenance": ORIGIN}
STEP["completion"] = f"<think> Hm. </think>\n<search> {AWKWARD} </search>"
TALK = CHAT | {"provenance": {"tree": "q1", "nodes": [0, 3, 9], "method": "decouple"}}
SIDES = PAIR | {"prompt": "Q\n<think> Hm", "chosen": " so. </think>\n<search> x </search>", "rejected": " or not."}
META = {"id": "q1#9", "meta": {"tree": "q1", "nodes": [0, 3, 9]}}
only = partial(exported, style="tools")


def called(content: str, name: str, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return said("assistant", content) | {"tool_calls": [{"type": "function", "function": function}]}


SEARCHED = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>'
ANSWERED = '<tool_call>{"name": "answer", "arguments": {"answer": "y"}}</tool_call>'
FIRST, LAST = called("Hm.", "search", query="x"), called("So.", "answer", answer="y")
BEFORE = [said("system", "Solve."), said("user", "Who?")]
FOUND = {"role": "tool", "name": "search", "content": "Doc 1"}


def test_a_conversation_with_a_search_and_an_answer(tmp_path: Path):
    run = write_run(tmp_path / "run", sft=[TALK])
    assert only(run, "sft.messages") == META | {"messages": [*BEFORE, FIRST, FOUND, LAST], "tools": TOOLS}
    begun, ended = only(run, "sft.prompt_completion")
    assert begun == META | {"id": "q1#9/2", "prompt": BEFORE, "completion": [FIRST], "tools": TOOLS}
    assert ended == META | {"id": "q1#9/4", "prompt": [*BEFORE, FIRST, FOUND], "completion": [LAST], "tools": TOOLS}
    assert only(run, "sft.sharegpt") == META | {
        "system": "Solve.",
        "conversations": [
            {"from": "human", "value": "Who?"},
            {"from": "function_call", "value": f"Hm.\n{SEARCHED}"},
            {"from": "observation", "value": "Doc 1"},
            {"from": "function_call", "value": f"So.\n{ANSWERED}"},
        ],
        "tools": TOOLS,
    }


def test_a_prompt_with_a_search(tmp_path: Path):
    run = write_run(tmp_path / "run", sft=[STEP])
    row = {"id": "q1#0", "meta": {"tree": "q1", "nodes": [1]}}
    asked, answered = said("user", "Q\n" + LINE), called("Hm.", "search", query=AWKWARD)
    assert only(run, "sft.messages") == row | {"messages": [asked, answered], "tools": TOOLS}
    assert only(run, "sft.prompt_completion") == row | {"prompt": [asked], "completion": [answered], "tools": TOOLS}
    human, call = only(run, "sft.sharegpt")["conversations"]
    assert human == {"from": "human", "value": "Q\n" + LINE} and call["from"] == "function_call"
    thought, text = re.fullmatch(r"(.*)\n<tool_call>(.*)</tool_call>", call["value"], re.S).groups()  # type: ignore[union-attr]
    assert (thought, json.loads(text)) == ("Hm.", {"name": "search", "arguments": {"query": AWKWARD}})


def test_a_pair_of_which_one_side_ends_within_a_thought(tmp_path: Path):
    run = write_run(tmp_path / "run", dpo=[SIDES])
    row = {"id": "q1#1>2", "meta": {"tree": "q1", "nodes": [1, 2]}, "tools": TOOLS}
    sides = {"chosen": [called("Hm so.", "search", query="x")], "rejected": [said("assistant", "Hm or not.")]}
    assert only(run, "dpo.explicit") == row | {"prompt": [said("user", "Q\n" + LINE)]} | sides
    sides = {"chosen": {"from": "function_call", "value": f"Hm so.\n{SEARCHED}"}}
    sides["rejected"] = {"from": "gpt", "value": "Hm or not."}
    asked = {"conversations": [{"from": "human", "value": "Q\n" + LINE}]}
    assert only(run, "dpo.sharegpt_ranking") == row | asked | sides


@pytest.mark.parametrize(
    ("method", "text", "expected"),
    [
        ("decex", "<search> a </search>", ("", "search", "a")),
        ("decex", "<reasoning> r </reasoning>\n<question> a? </question>", ("r", "question", "a?")),
        ("decex", "<think> a <answer> b </answer> c", ("a <answer> b </answer> c", None, "")),
        ("decex", "<search> open", ("<search> open", None, "")),
        ("prorag", "<step> t </step>\n<subquery> a </subquery>", ("t", "search", "a")),
        ("prorag", "<step> t </step>\n<subanswer> a </subanswer>", ("t", "sub_answer", "a")),
        ("reasonrag", "t\n<evidence> a </evidence>", ("t", "sub_answer", "a")),
        ("reasonrag", "t\n<query> a </query>\n", ("t", "search", "a")),
        ("decouple", 'Search(["a", "b (c)"])', ("", "search", '["a", "b (c)"]')),
        ("decouple", "A Search(a)\nSearch(b) or c.\nFinish(d)", ("A Search(a)\nSearch(b) or c.", "answer", "d")),
        ("decouple", "t\nSearch(a\nFinish(b))", ("t", "search", "a\nFinish(b)")),
        ("decouple", "t\nSearch(a) b)", ("t", "search", "a) b")),
        ("decouple", "t\nFinish(a ( b)", ("t", "answer", "a ( b")),
        ("decouple", "I may Search(a)", ("I may Search(a)", None, "")),
    ],
)
def test_the_action_is_the_one_that_ends_the_turn(method: str, text: str, expected: tuple[str, str | None, str]):
    reply = read(text, protocol_of(method).actions, protocol_of(method))
    assert (reply.thought, reply.role, reply.argument) == expected


PURPOSES = [
    ("decex", "termination", "<answer> a </answer>", ["answer", "question"]),
    ("decex", "sub_query", "a <answer> b </answer>", None),
    ("decouple", "plan", "Look it up.\nSearch(a)", ["answer"]),
    ("prorag", "", "<answer> a </answer>", ["search", "sub_answer", "answer"]),
    ("reasonrag", "", "<evidence> a </evidence>", ["sub_answer"]),
    ("reasonrag", "", "a", ["search", "answer"]),
]


@pytest.mark.parametrize(("method", "purpose", "text", "expected"), PURPOSES)
def test_a_row_offers_the_tools_of_its_purpose(tmp_path, method, purpose, text, expected):
    provenance = {"tree": "q1", "nodes": [1], "method": method} | ({"purpose": purpose} if purpose else {})
    row = only(write_run(tmp_path / "run", sft=[STEP | {"completion": text, "provenance": provenance}]), "sft.messages")
    offered = row["tools"] and [tool["function"]["name"] for tool in json.loads(row["tools"])]
    assert offered == expected
    asked, answered = row["messages"]
    assert [name for name in protocol_of(method).actions if f"the tool {name}" in asked["content"]] == sorted(
        expected or [], key=list(protocol_of(method).actions).index
    )
    if purpose in ("sub_query", "plan"):
        assert answered == said("assistant", text)


def neutral(text: str) -> str:
    return text.replace("<", "&lt;").strip(" \t\r\n")


TEXTS = st.text().map(neutral).filter(bool)


@settings(max_examples=60, deadline=None)
@given(thought=st.text().map(neutral), argument=TEXTS, documents=st.text())
def test_any_text_stays_as_it_is(thought: str, argument: str, documents: str):
    talk = copy.deepcopy(TALK)
    search, found, answer = talk["messages"][2:]
    search |= {"content": f"{thought}\nSearch({argument})" if thought else f"Search({argument})", "value_at": 0}
    found |= {"content": documents, "value_at": 0}
    answer |= {"content": f"Finish({argument})", "value_at": 0}
    step = STEP | {"id": "q1#1", "completion": f"<think> {thought} </think>\n<answer> {argument} </answer>"}
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "run", sft=[step])
        assert only(run, "sft.messages")["messages"][1] == called(thought, "answer", answer=argument)
        if "Search(" in thought + argument or "Finish(" in thought + argument:
            return
        write_run(run, sft=[talk])
        first, last = called(thought, "search", query=argument), called("", "answer", answer=argument)
        assert only(run, "sft.messages")["messages"][2:] == [first, FOUND | {"content": documents}, last]
        _, first, seen, last = only(run, "sft.sharegpt")["conversations"]
        if thought:
            begun, marked = first["value"].split("\n<tool_call>")
            assert begun == thought and marked.endswith("</tool_call>")
            first["value"] = marked.removesuffix("</tool_call>")
        assert json.loads(first["value"]) == {"name": "search", "arguments": {"query": argument}}
        assert json.loads(last["value"]) == {"name": "answer", "arguments": {"answer": argument}}
        assert seen["value"] == documents


def test_thoughts_have_the_marks_of_the_searches():
    for method, (thoughts, _) in METHODS.items():
        text = " ".join((HEADERS / method / "prompts.hpp").read_text(encoding="utf-8").split())
        assert sorted(re.findall(r'\{"(?:thought|reasoning)", "([^"]+)", "([^"]*)"\}', text)) == sorted(thoughts)


def test_actions_and_purposes_are_those_of_the_protocol():
    decouple = protocol_of("decouple")
    assert decouple.actions == {"search": ("Search(", ")"), "answer": ("Finish(", ")")}
    assert decouple.purposes["plan"] == ("answer",) and decouple.purposes["step"] == ("search", "answer")
    assert "judge" not in decouple.purposes
    decex = protocol_of("decex")
    assert decex.purposes["sub_query"] == () and set(decex.actions) == {"question", "answer", "search"}
    for method, (_, usual) in METHODS.items():
        assert set(usual) <= set(protocol_of(method).purposes)


def test_llamafactory_gets_the_tools_and_no_file_that_it_would_read_without_calls(tmp_path: Path):
    run, out = write_run(tmp_path / "run", sft=[TALK]), tmp_path / "out"
    export(run, ["sft.messages", "sft.sharegpt"], out=out)
    files = export(run, ["sft.messages", "sft.sharegpt"], out=out, style="tools")
    assert [file.trainers for file in files] == [("trl",), ("llamafactory",)]
    info = json.loads((out / "dataset_info.json").read_text())
    assert list(info) == ["sft_sharegpt"]
    assert info["sft_sharegpt"]["columns"] == {"messages": "conversations", "system": "system", "tools": "tools"}
    assert info["sft_sharegpt"]["tags"]["function_tag"] == "function_call"
    assert "Actions are calls of tools" in (out / "README.md").read_text()
    run = write_run(tmp_path / "run", dpo=[SIDES])
    export(run, "dpo.sharegpt_ranking", out=out, style="tools")
    entry = json.loads((out / "dataset_info.json").read_text())["dpo_sharegpt_ranking"]
    columns = {"messages": "conversations", "chosen": "chosen", "rejected": "rejected", "tools": "tools"}
    assert entry["ranking"] is True and entry["columns"] == columns


def test_lengths_count_tools_and_calls(tmp_path: Path):
    byte_tokenizer().save_pretrained(tmp_path / "bytes")
    run = write_run(tmp_path / "run", sft=[TALK])
    [file] = export(run, "sft.messages", out=tmp_path / "out", style="tools", tokenizer=str(tmp_path / "bytes"))
    [report] = file.lengths
    shown = f"<|im_start|>system\n{TOOLS}<|im_end|>\n<|im_start|>system\nSolve.<|im_end|>\n"
    shown += "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\nHm.\n"
    shown += '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call><|im_end|>\n'
    shown += "<|im_start|>tool\nDoc 1<|im_end|>\n<|im_start|>assistant\nSo.\n"
    shown += '<tool_call>{"name": "answer", "arguments": {"answer": "y"}}</tool_call><|im_end|>\n'
    assert report.trainer == "trl SFTTrainer"
    assert report.longest == len(byte_tokenizer()(shown)["input_ids"])


@pytest.mark.parametrize("format", sorted(name for name, format in FORMATS.items() if not format.tools))
def test_formats_without_tools_are_refused_by_name(tmp_path: Path, format: str):
    run = write_run(tmp_path / "run", sft=[STEP])
    with pytest.raises(ValueError, match=f"format '{format}' has no style 'tools', formats with it: sft.prompt"):
        export(run, format, out=tmp_path / "out", style="tools", tokenizer="none")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (STEP | {"provenance": {"tree": "q1", "nodes": []}}, "row 'q1#0': its method is '', methods with tools: decex"),
        (STEP | {"provenance": ORIGIN | {"method": "airrag"}}, "its method is 'airrag'"),
        (STEP | {"provenance": ORIGIN | {"purpose": "x"}}, "row 'q1#0': its purpose is 'x', purposes with tools: term"),
        (STEP | {"completion": "<tool_call> </tool_call>\n<search> a </search>"}, "row 'q1#0' holds '<tool_call>'"),
        (TALK | {"messages": TALK["messages"][1::2] + TALK["messages"][-1:]}, "'q1#9': its documents follow no action"),
    ],
)
def test_rows_without_tools_are_named_and_nothing_is_written(tmp_path: Path, row: dict[str, Any], message: str):
    run = write_run(tmp_path / "run", sft=[row])
    with pytest.raises(ValueError, match=message):
        export(run, "sft.sharegpt", out=tmp_path / "out", style="tools")
    assert not (tmp_path / "out").exists()


def test_a_chat_template_without_tools_is_refused(tmp_path: Path):
    made = byte_tokenizer()
    made.chat_template = TEMPLATE.replace("message['tool_calls'] or []", "[]")
    made.save_pretrained(tmp_path / "bytes")
    run = write_run(tmp_path / "run", sft=[TALK])
    options = {"out": tmp_path / "out", "tokenizer": str(tmp_path / "bytes")}
    with pytest.raises(InputError, match="the chat template of 'bytes' has no tools"):
        export(run, "sft.messages", style="tools", **options)
    assert not (tmp_path / "out").exists()
    assert export(run, "sft.sharegpt", style="tools", **options)[0].rows == 1  # LLaMA-Factory has templates of its own
