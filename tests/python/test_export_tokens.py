"""Token ids of dialogues, and the rows that are too long for a trainer, by a tokenizer with a token a byte."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import rows
from espalier.errors import InputError
from espalier.export import export
from espalier.export.byte_tokenizer import TEMPLATE, byte_tokenizer
from espalier.export.tokenizer import Tokenizer
from exported_run import CHAT, HOSTILE, JUDGED, SFT, STEP, exported, write_run
from traced_run import ids

EOS = "<|endoftext|>"


def saved(folder: Path, template: str | None = TEMPLATE) -> str:
    made = byte_tokenizer()
    made.chat_template = template
    made.save_pretrained(folder)
    return str(folder)


def learned(row: dict[str, Any]) -> str:
    assert all(label in (-100, token) for token, label in zip(row["input_ids"], row["labels"], strict=True))
    return str(byte_tokenizer().decode([label for label in row["labels"] if label != -100]))


@pytest.mark.parametrize("style", ["conversational", "standard"])
def test_the_completion_and_what_ends_it_are_learned(tmp_path: Path, tokenizer: str, style: str):
    row = exported(write_run(tmp_path / "run", sft=[SFT]), "sft.tokens", tokenizer=tokenizer, style=style)
    prompt, completion = SFT["prompt"], SFT["completion"]
    end = EOS if style == "standard" else "<|im_end|>"
    assert learned(row) == completion + end
    shown = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{completion}<|im_end|>\n"
    text = prompt + completion + EOS if style == "standard" else shown
    assert byte_tokenizer().decode(row["input_ids"]) == text


def test_weights_follow_their_spans(tmp_path: Path, tokenizer: str):
    row = exported(write_run(tmp_path / "run", sft=[STEP]), "sft.tokens", tokenizer=tokenizer, style="standard")
    # "Q\n" in the prompt, then "<a>" 5, " x " 1, "</a>" 5, and the end of the text
    assert row["loss_weights"] == [0, 0, 5, 5, 5, 1, 1, 1, 5, 5, 5, 5, 1]
    assert len(row["input_ids"]) == 13


def test_all_turns_of_a_conversation_are_learned(tmp_path: Path, tokenizer: str):
    policy = exported(write_run(tmp_path / "run", sft=[CHAT]), "sft.tokens", tokenizer=tokenizer)
    assert learned(policy) == "Hm.\nSearch(x)<|im_end|>So.\nFinish(y)<|im_end|>"


def test_contents_are_told_from_the_templates_own_words(tokenizer: str):
    turns = [{"role": "user", "content": "user"}, {"role": "assistant", "content": "<|im_end|>"}]
    text, contents = Tokenizer(tokenizer).conversation(turns)
    assert text == "<|im_start|>user\nuser<|im_end|>\n<|im_start|>assistant\n<|im_end|><|im_end|>\n"
    assert [(c.begin, c.end) for c in contents] == [(17, 21), (54, 64)]


def test_templates_that_strip_are_followed_and_those_that_rewrite_are_refused(tmp_path: Path):
    turns = [{"role": "user", "content": "\n a \n"}]
    stripping = Tokenizer(saved(tmp_path / "a", TEMPLATE.replace("message['content']", "message['content'] | trim")))
    text, [content] = stripping.conversation(turns)
    assert text[content.begin : content.end] == "a" and content.place(3) - content.begin == 1
    assert content.place(0) == content.begin and content.place(5) == content.end
    shouting = Tokenizer(saved(tmp_path / "b", TEMPLATE.replace("message['content']", "message['content'] | upper")))
    with pytest.raises(InputError, match="rewrites what is said"):
        shouting.conversation(turns)
    refusing = Tokenizer(saved(tmp_path / "c", "{{ raise_exception('no tools here') }}"))
    with pytest.raises(InputError, match="no tools here"):
        refusing.conversation(turns)
    with pytest.raises(InputError, match="has no chat template"):
        Tokenizer(saved(tmp_path / "d", None)).conversation(turns)


def verdicts(run: Path, format: str, tokenizer: str, limit: int, style: str = "standard") -> list[tuple[str, str]]:
    [file] = export(run, format, out=run / "out", tokenizer=tokenizer, max_length=limit, style=style)
    return [(report.trainer, *report.rows) for report in file.lengths]


def test_lengths_worked_out_by_hand(tmp_path: Path, tokenizer: str):
    run = write_run(tmp_path / "run", sft=[STEP], prm=[JUDGED])
    trl, openrlhf = "trl SFTTrainer", "openrlhf"
    # 2 bytes of prompt, 10 of completion, the end of the text: 13
    assert verdicts(run, "sft.prompt_completion", tokenizer, 13) == [(trl, "kept"), (openrlhf, "kept")]
    assert verdicts(run, "sft.prompt_completion", tokenizer, 12) == [(trl, "cut"), (openrlhf, "cut")]
    assert verdicts(run, "sft.prompt_completion", tokenizer, 4) == [(trl, "cut"), (openrlhf, "dropped")]
    assert verdicts(run, "sft.prompt_completion", tokenizer, 2) == [(trl, "dropped"), (openrlhf, "dropped")]
    # as a conversation: 1 + 5 + 2 + 1 + 1 for the user, 1 + 10 + 10 + 1 + 1 for the assistant
    trained = [("sft.messages", "trl SFTTrainer", "cut"), ("sft.verl", "verl", "refused")]
    trained += [(f"sft.{form}", "llamafactory", "cut") for form in ("sharegpt", "alpaca")]
    for format, trainer, verdict in trained:
        assert verdicts(run, format, tokenizer, 33)[0] == (trainer, "kept"), format
        assert verdicts(run, format, tokenizer, 32)[0] == (trainer, verdict), format
    # 15 + 14 bytes of prompt, "good" and the end of the text on the longer side: 34
    assert verdicts(run, "prm.pairwise", tokenizer, 34)[0] == ("trl RewardTrainer", "kept")
    assert verdicts(run, "prm.pairwise", tokenizer, 33) == [("trl RewardTrainer", "dropped"), ("openrlhf", "cut")]
    assert verdicts(run, "dpo.explicit", tokenizer, 32)[1] == ("openrlhf", "cut")
    assert verdicts(run, "dpo.explicit", tokenizer, 31)[1] == ("openrlhf", "dropped")
    assert verdicts(run, "dpo.explicit", tokenizer, 33)[0] == ("trl DPOTrainer", "cut")
    assert verdicts(run, "dpo.explicit", tokenizer, 30)[0] == ("trl DPOTrainer", "cut")
    assert verdicts(run, "dpo.explicit", tokenizer, 29)[0] == ("trl DPOTrainer",)  # equal sides are left out
    for format in ("dpo.sharegpt_ranking", "dpo.alpaca_ranking"):
        # 1 + 5 + 29 + 1 + 1 and 1 + 10 + 4 + 1 + 1
        assert verdicts(run, format, tokenizer, 54)[0] == ("llamafactory", "kept")
        assert verdicts(run, format, tokenizer, 53)[0] == ("llamafactory", "cut")


def test_the_card_counts_what_is_lost_and_an_absent_tokenizer_leaves_none(tmp_path: Path, tokenizer: str):
    run = write_run(tmp_path / "run", sft=[STEP])
    export(run, "sft.prompt_completion", out=run / "out", tokenizer=tokenizer, max_length=12, style="standard")
    card = (run / "out" / "README.md").read_text()
    assert f"Tokens of the tokenizer {Path(tokenizer).name}." in card
    assert "| sft\\_prompt\\_completion.jsonl | trl SFTTrainer | keeps the first 12 tokens" in card
    assert "| 13 | 0 | 1 | 0 | 0 |" in card
    with pytest.raises(InputError, match="cannot be loaded"):
        export(run, "sft.messages", out=tmp_path / "none", tokenizer=str(tmp_path))
    assert not (tmp_path / "none").exists()


def test_hostile_text_comes_back_from_its_tokens(tmp_path: Path, tokenizer: str):
    hostile = SFT | {"completion": HOSTILE + EOS + "<|im_end|>"}
    run = write_run(tmp_path / "run", sft=[hostile])
    assert learned(exported(run, "sft.tokens", tokenizer=tokenizer, style="standard")) == hostile["completion"] + EOS
    export(run, "sft.messages", out=run / "out")
    assert [m["content"] for m in rows(run / "out" / "sft_messages.jsonl")[0]["messages"]][1] == hostile["completion"]


def test_the_tokens_that_were_sampled_are_those_of_the_rows(tmp_path: Path):
    merging = byte_tokenizer()
    merging.add_tokens(["x ", "(x", "<a>", "Doc "])  # so that no text is tokenised as it was sampled
    merging.save_pretrained(name := str(tmp_path / "merging"))
    run = write_run(tmp_path / "run", sft=[STEP, CHAT, STEP | {"id": "q1#8", "completion": "<a>  y </a>"}])
    written = {7: "<a>x</a>" + EOS, 3: "Hm.\nSearch(x)<|im_end|>", 9: "So.\nFinish(y)"}

    def made() -> list[dict[str, Any]]:
        rows = [
            {"id": "q1", "node": node, "rollout": None, "at": 0, "purpose": "step", "ids": ids(text), "logprobs": []}
            for node, text in written.items()
        ]
        (run / "tokens.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        [file] = export(run, "sft.tokens", out=run / "out", tokenizer=name)
        assert list(file.left_out) == ["steps that were read as other text than the model wrote"]
        found = list(pq.read_table(file.path).to_pylist())
        assert [w for w in found[0]["loss_weights"] if w] == [5, 5, 5, 1, 5, 5, 5, 5, 1]
        assert [label for label in found[0]["labels"] if label != -100] == ids("<a>x</a><|im_end|>")
        return found

    asked = "<|im_start|>system\nSolve.<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    found = "\n<|im_start|>tool\nDoc 1<|im_end|>\n<|im_start|>assistant\n"
    wanted: dict[str, list[int]] = {"input_ids": [], "labels": []}
    for place, text in enumerate((asked, "Hm.\nSearch(x)<|im_end|>", found, "So.\nFinish(y)<|im_end|>", "\n")):
        tokens = ids(text) if place % 2 else merging(text)["input_ids"]
        wanted["input_ids"] += tokens
        wanted["labels"] += tokens if place % 2 else [-100] * len(tokens)
    assert wanted == {name: made()[1][name] for name in wanted}
    written[7] = "<a>x"  # its server keeps the stop string to itself
    written[9] = "So.\nFinish(z)"  # one step of the conversation was read as other text
    assert len(made()) == 1
