"""Each bad input is one clear line that names the row or the option."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from espalier.errors import Error, InputError
from espalier.export.byte_tokenizer import byte_tokenizer
from training import dpo_row, sft_row, train_dpo, train_sft, write_rows


def saved(network: Any, folder: Path, tokenizer: Any = None) -> None:
    network.save_pretrained(folder)
    (tokenizer or byte_tokenizer()).save_pretrained(folder)


def test_rows_of_other_prompts(run: Path, tiny: Path, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sft.jsonl").write_bytes((run / "sft.jsonl").read_bytes())
    record = json.loads((run / "run.json").read_text())
    record["inputs"]["prompts"] = "another"
    (other / "run.json").write_text(json.dumps(record))
    from espalier.train import sft

    with pytest.raises(InputError, match="another 'prompts'"):
        sft(data=[run, other], model=str(tiny), out=tmp_path / "out")


def test_pairs_of_other_prompts_than_the_model_has_learned(run: Path, tiny: Path, tmp_path: Path):
    train_sft(run, tiny, tmp_path / "sft", max_steps=1)
    record = json.loads((tmp_path / "sft" / "training.json").read_text())
    (tmp_path / "sft" / "training.json").write_text(json.dumps(record | {"prompts": "another"}))
    with pytest.raises(InputError, match=r"dpo.jsonl: the model .* has learned the prompts 'another'"):
        train_dpo(run, tmp_path / "sft", tmp_path / "out")


def test_pairs_that_do_not_differ(tiny: Path, tmp_path: Path):
    rows = [dpo_row("Q", "same", "same", i) for i in range(3)]
    with pytest.raises(InputError, match=r"none of the 3 rows is left .* row 'q0#1>2': chosen equals rejected"):
        train_dpo(write_rows(tmp_path / "data", "dpo", rows), tiny, tmp_path / "out")


def test_rows_that_are_all_too_long(run: Path, tiny: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"none of the \d+ rows is left .* longer than 20 tokens"):
        train_sft(run, tiny, tmp_path / "out", max_length=20)


def test_a_model_without_a_chat_template(run: Path, network, tmp_path: Path):
    bare = byte_tokenizer()
    template, bare.chat_template = bare.chat_template, None
    saved(network, tmp_path / "bare", bare)
    with pytest.raises(InputError, match=r"no chat template; a file chat_template\.jinja in its folder gives it one"):
        train_sft(run, tmp_path / "bare", tmp_path / "out")
    (tmp_path / "bare" / "chat_template.jinja").write_text(template)
    assert train_sft(run, tmp_path / "bare", tmp_path / "out", max_steps=1).steps == 1


def test_a_tokenizer_that_is_larger_than_the_model(run: Path, network, tmp_path: Path):
    large = byte_tokenizer()
    large.add_tokens(["one", "two"])
    saved(network, tmp_path / "model", large)
    with pytest.raises(InputError, match="the tokenizer has 261 tokens, the model 259"):
        train_sft(run, tmp_path / "model", tmp_path / "out")


def test_a_tokenizer_that_lacks_characters(run: Path, network, tmp_path: Path):
    import tokenizers
    import transformers

    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0, "<eos>": 1, "Q": 2}, unk_token="<unk>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="<unk>", eos_token="<eos>")
    words.chat_template = byte_tokenizer().chat_template
    saved(network, tmp_path / "model", words)
    with pytest.raises(InputError, match=r"row 'wq-\d+#0': the model's tokenizer lacks characters of it"):
        train_sft(run, tmp_path / "model", tmp_path / "out")


def test_a_loss_that_is_no_number(run: Path, network, tmp_path: Path):
    with torch.no_grad():
        network.model.norm.weight.fill_(float("nan"))
    saved(network, tmp_path / "model")
    with pytest.raises(Error, match="the loss of step 1 is nan: a lower option 'lr'"):
        train_sft(run, tmp_path / "model", tmp_path / "out")


def test_weights_that_are_no_numbers_are_never_written(run: Path, tiny: Path, tmp_path: Path):
    """The loss of a step is that before it, so only the weights show what the last step has done."""
    with pytest.raises(Error, match="the weights after step 1 are no numbers any more: a lower option 'lr'"):
        train_sft(run, tiny, tmp_path / "out", max_steps=1, lr=1e39, warmup=0)
    assert not (tmp_path / "out" / "model.safetensors").exists()
    with pytest.raises(Error, match="the weights after step 1 are no numbers"):
        train_sft(run, tiny, tmp_path / "saved", max_steps=3, lr=1e39, warmup=0, save_every=1)
    assert not list((tmp_path / "saved" / "checkpoints").glob("checkpoint-*"))


def test_a_gguf_file_that_cannot_be_written_is_refused_before_the_first_step(run, network, tmp_path, monkeypatch):
    monkeypatch.setattr("espalier.train.trainer.Watch.on_train_begin", lambda *args, **more: pytest.fail("it began"))
    network.config.rope_parameters = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}
    saved(network, tmp_path / "model")
    with pytest.raises(InputError, match="option 'gguf': only plain rotary positions are written"):
        train_sft(run, tmp_path / "model", tmp_path / "out", gguf="f16")


def test_an_out_that_holds_something_else(run: Path, tiny: Path, tmp_path: Path):
    for out, said in ((run, r"holds a run \(run.json\)"), (tiny, "is the model that the training begins with")):
        before = {file: file.read_bytes() for file in out.iterdir() if file.is_file()}
        with pytest.raises(InputError, match=f"option 'out': .* {said}"):
            train_sft(run, tiny, out, overwrite=True)
        assert {file: file.read_bytes() for file in out.iterdir() if file.is_file()} == before
    shutil.copytree(tiny, tmp_path / "other")
    with pytest.raises(InputError, match="holds a model that was not trained here"):
        train_sft(run, tiny, tmp_path / "other")


def test_a_full_disk_at_the_end_is_named(run: Path, tiny: Path, tmp_path: Path, monkeypatch):
    def full(*args: object) -> None:
        raise RuntimeError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("espalier.train.trainer.write_model", full)
    with pytest.raises(Error, match=r"out: the trained model cannot be written \(the disk is full\)"):
        train_sft(run, tiny, tmp_path / "out")


def test_too_little_memory_is_said_before_loading(run: Path, tiny: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("espalier.train.run.available_memory", lambda: 1000)
    monkeypatch.setattr("espalier.train.run.load_policy", lambda *args, **more: pytest.fail("was loaded"))
    with pytest.raises(Error, match="tiny: too little memory: training needs"):
        train_sft(run, tiny, tmp_path / "out")


def test_a_folder_that_is_at_work(run: Path, tiny: Path, tmp_path: Path):
    from espalier.io.files import working

    with working(tmp_path / "out", "train sft"), pytest.raises(InputError, match="train sft"):
        train_sft(run, tiny, tmp_path / "out")


def test_a_row_without_text_is_named(tiny: Path, tmp_path: Path):
    row = sft_row("Q", "a")
    del row["completion"]
    with pytest.raises(InputError, match=r"sft.jsonl:1: field 'completion': is missing"):
        train_sft(write_rows(tmp_path / "data", "sft", [row]), tiny, tmp_path / "out")


@pytest.mark.parametrize("train", [train_sft, train_dpo])
def test_several_processes_are_refused(train: Any, run: Path, tiny: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=r"`train \w+` runs in one process, 2 were started; trainers that take"):
        train(run, tiny, tmp_path / "out")
