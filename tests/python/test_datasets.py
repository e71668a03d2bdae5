"""Published sets of questions: hand-written miniatures of each form, what is read, and what is refused."""

import gzip
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import espalier, good, refused, rows
from espalier.datasets import read_aliases, read_examples

HOTPOT = {
    "_id": "h1",
    "question": "Where does the river Aru, which flows through Bel, rise?",
    "answer": "Cor",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["Bel", 1], ["Aru", 0]],
    "context": [
        ["Aru", ["The Aru rises in Cor.", " It is long."]],
        ["Bel", ["Bel is a town.", " The Aru flows through it."]],
        ["Dun", ["Dun is a  hill."]],
    ],
}


def columns(pairs: list[list[Any]], *names: str) -> dict[str, list[Any]]:
    """A list of tuples as the hub keeps it: a list for each field."""
    return {name: [pair[place] for pair in pairs] for place, name in enumerate(names)}


HOTPOT_HUB = {
    "id": "h1",
    **{name: HOTPOT[name] for name in ("question", "answer", "type", "level")},
    "supporting_facts": columns(HOTPOT["supporting_facts"], "title", "sent_id"),
    "context": columns(HOTPOT["context"], "title", "sentences"),
}
TWO_WIKI = {
    "_id": "w1",
    "type": "inference",
    "question": "Who is Ana's grandmother?",
    "context": [["Ana", ["Ana is the child of Ben."]], ["Ben", ["Ben's mother is Cleo."]]],
    "supporting_facts": [["Ana", 0], ["Ben", 0]],
    "evidences": [["Ana", "father", "Ben"], ["Ben", "mother", "Cleo"]],
    "answer": "Cleo",
    "answer_id": "Q7",
}
TWO_WIKI_HUB = TWO_WIKI | {name: json.dumps(TWO_WIKI[name]) for name in ("context", "supporting_facts", "evidences")}
MUSIQUE = {
    "id": "2hop__1_2",
    "paragraphs": [
        {"idx": 0, "title": "Film", "paragraph_text": "Film stars Eve.", "is_supporting": False},
        {"idx": 1, "title": "Eve", "paragraph_text": "Eve married Flo.", "is_supporting": True},
        {"idx": 2, "title": "Play", "paragraph_text": "Play stars Eve.", "is_supporting": True},
    ],
    "question": "Whom did the star of Play marry?",
    "question_decomposition": [
        {"id": 1, "question": "Who stars in Play?", "answer": "Eve", "paragraph_support_idx": 2},
        {"id": 2, "question": "#1 >> spouse", "answer": "Flo", "paragraph_support_idx": 1},
    ],
    "answer": "Flo",
    "answer_aliases": ["Florence"],
    "answerable": True,
}
POPQA_HEADER = (
    "id subj prop obj subj_id prop_id obj_id s_aliases o_aliases s_uri o_uri s_wiki_title o_wiki_title s_pop o_pop "
    "question possible_answers"
)
POPQA_CELLS = (
    '42|George Ray|occupation|politician|1|2|3|"[""G. Ray""]"|"[""pol""]"|http://a|http://b|George Ray (singer)|'
    'politician|142|25692|What is George Ray\'s occupation?|"[""politician"", ""political leader""]"'
)
POPQA = "\t".join(POPQA_HEADER.split()) + "\n" + POPQA_CELLS.replace("|", "\t") + "\n"
NQ = {"question": "who wrote it", "answer": ["Gus", "Gus H"]}
IDA = '(list (description "Ida \\"I\\" B") (description Jo))'
WEB = [{"url": "http://f/en/hal", "targetValue": IDA, "utterance": "q?"}]
KAY = {"Aliases": ["Kay", "K. Lee"], "HumanAnswers": ["kay l"], "Type": "WikipediaEntity", "Value": "Kay Lee"}
KAY |= {"NormalizedAliases": ["kay", "k lee"], "NormalizedValue": "kay lee"}
PAGE = {"DocSource": "TagMe", "Filename": "Kay.txt", "Title": "Kay Lee"}
ASKED = {"Question": "Who?", "QuestionId": "tc_1", "QuestionSource": "http://t/", "SearchResults": []}
TRIVIA = {"Data": [{"Answer": KAY, "EntityPages": [PAGE], **ASKED}], "Domain": "unfiltered", "Version": 1.0}
TRIVIA_HUB = {"question": "Who?", "question_id": "tc_1", "question_source": "http://t/"}
TRIVIA_HUB["entity_pages"] = {"title": ["Kay Lee"], "filename": ["Kay.txt"]}
TRIVIA_HUB["answer"] = {"value": "Kay Lee", "aliases": ["Kay", "K. Lee"], "type": "WikipediaEntity"}
PAIRS = [{"question": "In 1990?", "answer": ["Lu"]}, {"question": "In 1991?", "answer": ["Mo", "Lu"]}]
NOTES = [{"type": "singleAnswer", "answer": ["Ned"]}, {"type": "multipleQAs", "qaPairs": PAIRS}]
TITLES = {"nq_doc_title": "Cup", "viewed_doc_titles": ["Cup", "Cup 1990"]}
AMBIG = [{"id": "a1", "question": "who won?", "annotations": NOTES, **TITLES}]
AMBIG_HUB = {
    "id": "a1",
    "question": "who won?",
    "annotations": {
        "type": ["singleAnswer", "multipleQAs"],
        "answer": [["Ned"], []],
        "qaPairs": [columns(pairs, "question", "answer") for pairs in ([], [list(pair.values()) for pair in PAIRS])],
    },
}


def put(path: Path, value: object) -> Path:
    """A value as the file's name says: JSON, JSON lines of a list, text as it is."""
    if isinstance(value, str):
        path.write_text(value, encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in value), encoding="utf-8")
    else:
        path.write_text(json.dumps(value), encoding="utf-8")
    return path


def one(path: Path, format: str | None = None, **options: Any):
    [example] = read_examples(path, format, **options)
    return example


HOTPOT_FLASH = {"id": "h1", "question": "?", "golden_answers": ["Cor"], "metadata": HOTPOT_HUB}


@pytest.mark.parametrize("row", [HOTPOT, HOTPOT_HUB, HOTPOT_FLASH])
def test_hotpotqa_in_each_form(tmp_path: Path, row: dict[str, Any]):
    example = one(put(tmp_path / "dev.json", [row]))
    assert (example.id, example.answers) == ("h1", ["Cor"])
    wanted = {"type": "bridge", "level": "hard", "hops": 2, "supporting_facts": [["Bel", 1], ["Aru", 0]]}
    wanted["supporting_titles"] = ["Bel", "Aru"]
    wanted["supporting_sentences"] = ["The Aru flows through it.", "The Aru rises in Cor."]
    assert {field: example.metadata[field] for field in wanted} == wanted
    assert [p.title for p in example.passages] == ["Aru", "Bel", "Dun"]
    assert [p.text for p in example.passages][1:] == ["Bel is a town. The Aru flows through it.", "Dun is a hill."]
    assert example.metadata["gold_doc_ids"] == [p.id for p in example.passages[:2]]


FLASH_2WIKI = {
    "id": "w1",
    "question": TWO_WIKI["question"],
    "golden_answers": ["Cleo"],
    "metadata": {"type": "inference", "supporting_facts": columns(TWO_WIKI["supporting_facts"], "title", "sent_id")},
}
FLASH_2WIKI["metadata"]["evidences"] = columns(TWO_WIKI["evidences"], "fact", "relation", "entity")


def test_a_form_of_flashrag_is_read_as_the_published_one(tmp_path: Path):
    read = [esp.read_questions(put(tmp_path / "q.jsonl", [row]))[0] for row in (TWO_WIKI, FLASH_2WIKI)]
    seen = [(q.id, q.gold, q.hops, q.supporting_titles, [(s.question, s.answer) for s in q.chain]) for q in read]
    assert seen[0] == seen[1]


def test_a_set_of_decex_rag_goes_by_its_source_ids(tmp_path: Path):
    rows = [{"index": 1, "src_id": "dev_0", "question": "Who?", "golden_answers": ["Cleo", "Cleopatra"]}]
    [example] = read_examples(put(tmp_path / "dev.json", rows))
    assert (example.id, example.question, example.answers) == ("dev_0", "Who?", ["Cleo", "Cleopatra"])


@pytest.mark.parametrize("row", [TWO_WIKI, TWO_WIKI_HUB])
def test_2wiki_gives_a_chain_and_takes_aliases(tmp_path: Path, row: dict[str, Any]):
    file = put(tmp_path / "dev.json", [row])
    aliases = {"Q_id": "Q7", "aliases": ["Cleopatra", "Cleo"], "demonyms": []}
    names = put(tmp_path / "id_aliases.json", json.dumps(aliases))
    assert one(file).answers == ["Cleo"]
    assert one(file, aliases=read_aliases(names)).answers == ["Cleo", "Cleopatra"]
    without_id = put(tmp_path / "plain.json", [row | {"answer_id": ""}])
    assert one(without_id, aliases=read_aliases(names)).answers == ["Cleo"]
    hidden = row | {"answer": "", "supporting_facts": [], "evidences": []}
    assert one(put(tmp_path / "test.json", [hidden])).answers == []
    [question] = esp.read_questions(file)
    assert [(s.question, s.answer, s.support_title) for s in question.chain] == [
        ("Ana >> father", "Ben", "Ana"),
        ("#1 >> mother", "Cleo", "Ben"),
    ]
    assert (question.type, question.hops, question.supporting_titles) == ("inference", 2, ["Ana", "Ben"])


def test_musique_gives_its_chain_and_leaves_out_what_has_no_answer(tmp_path: Path):
    twin = MUSIQUE | {"answerable": False}
    file = put(tmp_path / "musique_full.jsonl", [MUSIQUE, twin])
    example = one(file)
    assert example.answers == ["Flo", "Florence"] and example.metadata["type"] == "2hop"
    assert example.metadata["supporting_titles"] == ["Play", "Eve"]
    [question] = esp.read_questions(file)
    assert [(s.question, s.support_title, s.support_id) for s in question.chain] == [
        ("Who stars in Play?", "Play", example.passages[2].id),
        ("#1 >> spouse", "Eve", example.passages[1].id),
    ]
    flash = {"id": "dev_0", "question": MUSIQUE["question"], "golden_answers": ["Flo"], "metadata": MUSIQUE}
    assert one(put(tmp_path / "flash.jsonl", [flash])).metadata["decomposition"] == example.metadata["decomposition"]


def test_flashrag_gives_musique_a_paragraph_a_step(tmp_path: Path):
    steps = [
        step | {"support_paragraph": MUSIQUE["paragraphs"][step["paragraph_support_idx"]]}
        for step in MUSIQUE["question_decomposition"]
    ]
    metadata = {"answerable": True, "question_decomposition": steps}
    metadata |= {"paragraphs": None, "level": None}  # as where sets of several forms share one Parquet file
    row = {"id": "dev_0", "question": MUSIQUE["question"], "golden_answers": ["Flo", "Florence"], "metadata": metadata}
    flash, published = one(put(tmp_path / "flash.jsonl", [row])), one(put(tmp_path / "musique.jsonl", [MUSIQUE]))
    assert flash.answers == published.answers and None not in flash.metadata.values()
    for field in ("type", "hops", "decomposition", "supporting_titles", "gold_doc_ids"):
        assert flash.metadata[field] == published.metadata[field]
    assert flash.passages == [published.passages[2], published.passages[1]]
    [question] = esp.read_questions(tmp_path / "flash.jsonl")
    assert [(s.question, s.support_title) for s in question.chain] == [
        ("Who stars in Play?", "Play"),
        ("#1 >> spouse", "Eve"),
    ]
    steps[1]["support_paragraph"] = {"idx": 1, "title": "Eve"}
    broken = put(tmp_path / "broken.jsonl", [row])
    said = r"'metadata.question_decomposition.support_paragraph': .* 'paragraph_text'"
    with pytest.raises(esp.errors.InputError, match=said):
        one(broken)


def test_popqa_gives_its_triple(tmp_path: Path):
    file = put(tmp_path / "popQA.tsv", POPQA)
    example = one(file)
    assert (example.id, example.answers) == ("42", ["politician", "political leader"])
    assert example.metadata["subject_popularity"] == 142 and example.metadata["object_popularity"] == 25692
    assert example.metadata["supporting_titles"] == ["George Ray (singer)"]
    [question] = esp.read_questions(file)
    assert [(s.question, s.answer) for s in question.chain] == [("George Ray >> occupation", "politician")]


def test_triviaqa_keeps_the_aliases(tmp_path: Path):
    example = one(put(tmp_path / "unfiltered-web-dev.json", json.dumps(TRIVIA, indent=4)))
    assert (example.id, example.answers) == ("tc_1", ["Kay Lee", "Kay", "K. Lee", "kay l"])
    assert example.metadata["entity_titles"] == ["Kay Lee"]
    assert one(put(tmp_path / "hub.jsonl", [TRIVIA_HUB])).answers == ["Kay Lee", "Kay", "K. Lee"]
    hidden = TRIVIA_HUB | {"answer": {"value": "<unk>", "aliases": []}}
    assert one(put(tmp_path / "test.jsonl", [hidden])).answers == []
    halves = [TRIVIA_HUB, TRIVIA_HUB | {"entity_pages": {"title": []}}]
    assert one(put(tmp_path / "rc.jsonl", halves)).metadata["entity_titles"] == ["Kay Lee"]
    with pytest.raises(esp.errors.InputError, match=r"rc.jsonl:2: field 'id': 'tc_1' stands in .*:1 too"):
        list(read_examples(put(tmp_path / "rc.jsonl", [TRIVIA_HUB, TRIVIA_HUB | {"question": "Where?"}])))


def test_ambigqa_keeps_every_reading(tmp_path: Path):
    example = one(put(tmp_path / "dev.json", AMBIG))
    assert example.answers == ["Ned", "Lu", "Mo"] and example.metadata["type"] == "ambiguous"
    assert example.metadata["readings"] == [
        {"question": "In 1990?", "answers": ["Lu"]},
        {"question": "In 1991?", "answers": ["Mo", "Lu"]},
    ]
    assert example.metadata["viewed_doc_titles"] == ["Cup", "Cup 1990"]
    hub = one(put(tmp_path / "hub.jsonl", [AMBIG_HUB]))
    assert hub.answers == example.answers and hub.metadata["readings"] == example.metadata["readings"]


def test_sets_of_questions_and_answers_alone(tmp_path: Path):
    nq = list(read_examples(put(tmp_path / "NQ-open.dev.jsonl", [NQ, NQ | {"answer": "Hal"}])))
    assert [(e.id, e.answers) for e in nq] == [("nq_open-0", ["Gus", "Gus H"]), ("nq_open-1", ["Hal"])]
    web = one(put(tmp_path / "webquestions.examples.test.json", WEB))
    assert (web.question, web.answers, web.metadata["url"]) == ("q?", ['Ida "I" B', "Jo"], "http://f/en/hal")
    hub = {"url": "http://f/en/hal", "question": "q?", "answers": ["Ida", "Jo"]}
    assert one(put(tmp_path / "hub.jsonl", [hub])).answers == ["Ida", "Jo"]
    bamboogle = one(put(tmp_path / "bamboogle.csv", 'Question,Answer\n"Who, then?",[Kim\n'))
    assert (bamboogle.id, bamboogle.question, bamboogle.answers) == ("bamboogle-0", "Who, then?", ["[Kim"])


def test_one_question_in_any_wrapping(tmp_path: Path):
    text = json.dumps(HOTPOT) + "\n"
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    put(tmp_path / "b.json", f"\ufeff [\n{text}]")
    put(tmp_path / "c.json", text)
    read = [one(tmp_path / name) for name in ("a.jsonl.gz", "b.json", "c.json")]
    assert read[0] == read[1] == read[2]


MIXED = [{"id": "1", "question": "a", "golden_answers": ["x"]}, NQ, WEB[0], HOTPOT]
SQUAD = {"context": "c", "qas": [{"id": "1", "question": "who", "answers": [{"text": "x", "answer_start": 0}]}]}


@pytest.mark.parametrize(
    ("name", "value", "gold"),
    [
        ("dpr.json", [{"question": "who", "answers": ["x", "y"], "positive_ctxs": [{"title": "T"}]}], [["x", "y"]]),
        ("squad.json", {"version": "1.1", "data": [{"paragraphs": [SQUAD, SQUAD | {"qas": []}]}]}, [["x"]]),
        ("mrqa.jsonl", [{"header": {"dataset": "D"}}, SQUAD], [["x"]]),
        ("hub.jsonl", [{"id": 7, "question": "who", "answers": {"text": ["x", "x"], "answer_start": [0, 4]}}], [["x"]]),
        ("kilt.jsonl", [{"id": "1", "question": "who", "output": [{"answer": "x", "provenance": []}]}], [["x"]]),
        *[
            ("q.jsonl", [{"id": "1", "question": "who", field: ["x"]}], [["x"]])
            for field in ("gold_answers", "goldAnswers", "Answer", "ground_truth", "target", "possible_answers", "gt")
        ],
        ("q.jsonl", [{"id": "1", "question": "who", "answer": "x", "answer_aliases": ["y"]}], [["x", "y"]]),
        ("q.jsonl", [{"id": "1", "question": "who", "answer": "x", "answers": ["The X", "y"]}], [["The X", "y"]]),
        ("q.jsonl", [{"question": "who", "answer": {"value": "x", "aliases": ["y"], "alias": None}}], [["x", "y"]]),
        ("q.jsonl", [{"question": "who", "answers": [{"text": "x", "answer_aliases": "y", "start": 3}]}], [["x", "y"]]),
        ("q.jsonl", MIXED, [["x"], NQ["answer"], ['Ida "I" B', "Jo"], ["Cor"]]),
        ("q.csv", 'question,answer\na,[None]\nb,{c}\nc,"[""x"", ""y""]"\n', [["[None]"], ["{c}"], ["x", "y"]]),
    ],
)
def test_gold_is_read_whatever_its_name_and_form(tmp_path: Path, name: str, value: Any, gold: list[list[str]]):
    file = put(tmp_path / name, value)
    assert [question.gold for question in esp.read_questions(file)] == gold
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert [question.gold for question in esp.read_questions(tmp_path / f"{name}.gz")] == gold


def test_only_the_first_paragraph_of_a_title_is_supporting(tmp_path: Path):
    twice = HOTPOT | {"context": [*HOTPOT["context"], ["Bel", ["Another Bel.", "It is no town."]]]}
    example = one(put(tmp_path / "dev.json", [twice]))
    assert example.metadata["gold_doc_ids"] == [p.id for p in example.passages[:2]] and len(example.passages) == 4
    assert example.metadata["supporting_sentences"][0] == "The Aru flows through it."


def test_a_question_under_two_ids_is_said_once(tmp_path: Path):
    asked = {"a": "Whó?", "b": "Why?", "c": "who\u0301\uff1f"}
    rows = [{"id": id, "question": text, "golden_answers": ["x"]} for id, text in asked.items()]
    file = put(tmp_path / "q.jsonl", rows)
    said = "'a' and 'c' ask the same question"
    assert good("questions", file, "--out", tmp_path / "out.jsonl").stderr.count(said) == 1
    dry = ("--questions", file, "--out", tmp_path / "run", "--method", "direct", "--dry-run")
    assert good("answer", *dry).stderr.count(said) == 1


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow")
@pytest.mark.parametrize("row", [HOTPOT_HUB, TWO_WIKI_HUB, MUSIQUE, NQ, TRIVIA_HUB, AMBIG_HUB])
def test_parquet_reads_as_json_lines_do(tmp_path: Path, row: dict[str, Any]):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "dev.parquet")
    assert one(tmp_path / "dev.parquet") == one(put(tmp_path / "dev.jsonl", [row]))
    (tmp_path / "dev.parquet").write_bytes((tmp_path / "dev.parquet").read_bytes()[:-9])
    with pytest.raises(esp.errors.InputError, match="no Parquet file that can be read"):
        one(tmp_path / "dev.parquet")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("a.json", [HOTPOT, HOTPOT], r"a.json: row 2: field 'id': 'h1' stands in .*a.json: row 1 too"),
        ("a.jsonl", [HOTPOT, HOTPOT | {"_id": "h2", "question": 5}], r"a.jsonl:2: field 'question': is not a text"),
        ("a.json", [HOTPOT | {"context": [["Aru"]]}], "field 'context': holds something that is not 2 parts"),
        ("a.json", [HOTPOT | {"context": [["Aru", [3]]]}], "field 'context': is not a list of texts"),
        ("a.json", [HOTPOT | {"supporting_facts": [["Aru", "0"]]}], "field 'supporting_facts'"),
        ("a.json", [TWO_WIKI | {"evidences": [["Ana", "father"]]}], "field 'evidences'"),
        ("a.json", [TWO_WIKI | {"evidences": "[["}], "field 'evidences': is a text that is not JSON"),
        ("a.jsonl", [MUSIQUE | {"paragraphs": [{"title": "x"}]}], "a record without 'paragraph_text'"),
        ("a.jsonl", [MUSIQUE | {"paragraphs": MUSIQUE["paragraphs"][:2]}], "points at paragraph 2"),
        ("a.jsonl", [MUSIQUE | {"paragraphs": [MUSIQUE["paragraphs"][1] | {"idx": [1]}]}], "points at paragraph 2"),
        ("a.tsv", POPQA.replace("142", "many"), "a.tsv:2: field 's_pop': is no whole number: 'many'"),
        ("a.tsv", POPQA.rpartition("\t")[0] + "\n", "a.tsv:2: has 16 cells, the header has 17"),
        ("a.tsv", POPQA.rstrip()[:-1], "a.tsv:2: unexpected end of data"),
        ("a.jsonl", [NQ | {"answer": [1]}], "a.jsonl:1: field 'answer': is not a list of texts"),
        ("a.json", [WEB[0] | {"targetValue": "(list (name x))"}], "field 'targetValue': is no list of descriptions"),
        ("a.json", {"Data": [TRIVIA["Data"][0] | {"Answer": {"Value": 3}}]}, "field 'Answer.Value': is not a text"),
        ("a.json", [AMBIG[0] | {"annotations": [{"type": "none"}]}], "neither singleAnswer nor multipleQAs"),
        ("a.json", [AMBIG_HUB | {"annotations": {"type": ["singleAnswer"], "answer": [[], []]}}], "of one length"),
        ("a.json", "[{]", "a.json: is not JSON"),
        ("a.json", "[\n" + json.dumps(HOTPOT), "a.json, line 2: is not JSON"),
        ("a.json", '[{"a": 1}, {"a": {"b": [NaN]}}]', "a.json: row 2: field 'a.b.0': holds NaN, which is no JSON"),
        ("a.jsonl", json.dumps(NQ) + '\n{"a": -1e999}\n', "a.jsonl:2: field 'a': holds infinity, which is no JSON"),
        ("a.jsonl", [NQ, {"id": "1", "question": "q", "answer": "x", "gold": "y"}], "a.jsonl:2: field 'gold': looks"),
        ("a.jsonl", [{"question": "q?", "choices": ["x", "y"], "answerKey": "A"}], "field 'answerKey': names a choice"),
        ("a.jsonl", [HOTPOT | {"aliases": ["y"]}], "a.jsonl:1: field 'aliases': looks like gold answers or aliases"),
        ("a.jsonl", [NQ | {"metadata": [{"aliases": ["y"]}]}], "a.jsonl:1: field 'metadata.aliases': looks like gold"),
        ("a.jsonl", [NQ | {"extra": {"aliases": ["y"]}}], "a.jsonl:1: field 'extra.aliases': looks like gold"),
        ("a.jsonl", [MIXED[0] | {"info": [{"alias": "y"}]}], "a.jsonl:1: field 'info.alias': looks like gold"),
        ("a.jsonl", [NQ | {"id": 1 << 64}], "a.jsonl:1: field 'id': holds a number of more than 64 bits"),
        ("a.csv", 'question,answer,metadata\nq,x,"{""a"": [{""aliases"": ""y""}]}"\n', "'metadata.a.aliases': looks"),
        ("a.jsonl", [NQ, {"name": "x"}], "a.jsonl:2: is in no form that is known"),
        ("a.jsonl", [{"question": "q", "answer": ["", " "]}], "field 'answer': holds an empty answer"),
        ("a.json", "[" * 100_000, "nested too deep"),
        ("a.jsonl", '{"question": "\\ud800", "answer": []}\n', "half of a surrogate pair"),
        ("a.json", "question,answer\n", "neither JSON nor JSON lines"),
        ("a.csv", "question,answer\n", "holds no questions"),
        ("a.csv", "question,answer,answer\nq,x,y\n", "a.csv:1: field 'answer': names two columns"),
        ("a.json", '[{"question":"q","answer":"x","answer":"y"}]', "a.json: is not JSON: key 'answer' is there twice"),
        ("a.json", "[]", "holds no questions"),
        ("a.json", '{"data": 3}', "holds no list of questions"),
        ("a.json", "[3]", "row 1: is not an object"),
        ("a.csv", "name,colour\nx,y\n", r"is in no form that is known \(fields: colour, name\)"),
        ("a.csv", "id,golden_answers,question\nq,a,\n", "a.csv:2: field 'question': is empty"),
        ("a.csv", 'id,golden_answers,question,metadata\nq,a,b,"{""hops"": ""x""}"\n', "field 'metadata.hops'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, value: object, message: str):
    with pytest.raises(esp.errors.InputError, match=message):
        esp.read_questions(put(tmp_path / name, value), "nq_open" if "surrogate" in message else None)


def test_damaged_bytes_are_named(tmp_path: Path):
    packed = gzip.compress(json.dumps([HOTPOT]).encode() * 50)
    for name, content, message in [
        ("cut.json.gz", packed[:-20], "is cut short"),
        *(("two.json.gz", packed + more, "two.json.gz: is damaged") for more in (packed[3:], b"\n", bytes(9) + b"x")),
        ("bad.json.gz", packed[:12] + b"\xff" * 9 + packed[21:], "is damaged|is cut short|not UTF-8|not JSON"),
        ("wide.jsonl", '{"question": "q"}'.encode("utf-16"), ":1: is UTF-16, must be UTF-8"),
        ("bare.csv", "question,answer".encode("utf-16-le"), ":1: is UTF-16, must be UTF-8"),
        ("latin.json", '[{"question": "\xe9"}]'.encode("latin-1"), "is not UTF-8"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(esp.errors.InputError, match=message):
            list(read_examples(tmp_path / name))


def test_gold_is_required_on_request_and_formats_are_checked(tmp_path: Path):
    file = put(tmp_path / "test.json", [{"_id": "h", "question": "q", "context": []}])
    assert esp.read_questions(file)[0].gold == []
    with pytest.raises(esp.errors.InputError, match=r"test.json: row 1: has no gold answer"):
        esp.read_questions(file, require_gold=True)
    with pytest.raises(ValueError, match="unknown format 'hotpot', did you mean 'hotpotqa'"):
        esp.read_questions(file, "hotpot")
    with pytest.raises(esp.errors.InputError, match=r"row 1: field 'paragraphs'|field 'id': is missing"):
        esp.read_questions(file, "musique")


def test_the_command_writes_what_runs_read(tmp_path: Path):
    second = HOTPOT | {"_id": "h2", "context": [*HOTPOT["context"], ["Eel", ["An eel."]]]}
    source = put(tmp_path / "hotpot.json", [HOTPOT, second])
    out, corpus = tmp_path / "questions.jsonl", tmp_path / "corpus.jsonl"
    done = good("questions", source, "--out", out, "--corpus", corpus)
    assert "2 questions" in done.stdout and "4 passages" in done.stdout
    ids = {p.id for p in esp.read_passages(corpus)}
    assert len(ids) == 4 and {i for row in rows(out) for i in row["metadata"]["gold_doc_ids"]} <= ids
    first = {"title": "Aru", "contents": "Aru\nThe Aru rises in Cor. It is long."}
    assert rows(corpus)[0] == {"id": rows(corpus)[0]["id"], **first}
    raw = espalier("expand", "--questions", source, "--corpus", corpus, "--out", tmp_path / "run")
    assert raw.returncode == 3 and f"in the form of hotpotqa: `espalier questions {source} --out" in raw.stderr
    table = put(tmp_path / "own.json", [{"id": "1", "question": "q?", "golden_answers": ["x"]}])
    raw = espalier("expand", "--questions", table, "--corpus", corpus, "--out", tmp_path / "run")
    assert raw.returncode == 3 and "in the form of flashrag" in raw.stderr
    musique = put(tmp_path / "musique.jsonl", [MUSIQUE])
    told = espalier("answer", "--questions", musique, "--method", "direct", "--out", tmp_path / "no", "--dry-run")
    assert told.returncode == 3 and "field 'answer': looks like gold" in told.stderr and "musique" in told.stderr
    run = good("expand", "--questions", out, "--corpus", corpus, "--out", tmp_path / "run", "--dry-run")
    assert "2 questions, 4 passages" in run.stdout

    missing = refused(3, "questions", tmp_path / "no.json", "--out", out)
    assert missing.endswith("no.json: No such file or directory\n")
    popqa = put(tmp_path / "popQA.tsv", POPQA)
    assert "no passages come with these questions" in refused(
        3, "questions", popqa, "--out", tmp_path / "x.jsonl", "--corpus", tmp_path / "y.jsonl"
    )
    assert not list(tmp_path.glob("[xy].jsonl*"))
    done = espalier("questions", popqa, "--out", tmp_path / "x.jsonl", "--json")
    assert json.loads(done.stdout) == {"questions": 1, "without_gold": 0, "passages": 0}
    assert "popq" in refused(2, "questions", popqa, "--out", tmp_path / "x.jsonl", "--format", "popq")
