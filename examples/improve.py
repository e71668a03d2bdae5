"""A model made better in rounds: grow its trees, train it on them by SFT and DPO, answer held-out questions, again.

Run the same command to go on where it was stopped: every run and every training recognises itself. It stops where a
round brings no gain that the held-out questions show.
"""

import argparse
import json
from pathlib import Path

import espalier as esp
from espalier.eval import compare
from espalier.train import dpo, sft

TRAINED = {"form": "policy"}
"""A trained policy knows no other prompt."""


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", required=True, help="with gold answers; every fifth is held out")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--model", default="simulated", help="grows the first trees: simulated, a URL or hf:FOLDER")
    parser.add_argument("--student", required=True, help="is trained first: a folder, gguf:FILE or micro:SIZE")
    parser.add_argument("--prompts", help="a folder of prompts, for micro models examples/compact_prompts")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="a search option")
    parser.add_argument("--train", action="append", default=[], metavar="STAGE.OPTION=VALUE", help="as sft.lr=1e-4")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def training(given, stage):
    """The options of a stage as its keywords. A number or true is read as such, all else is a text."""
    found = {}
    for name, _, value in (one.partition("=") for one in given):
        if name.startswith(f"{stage}."):
            try:
                found[name.removeprefix(f"{stage}.")] = json.loads(value)
            except ValueError:
                found[name.removeprefix(f"{stage}.")] = value
    return found


def divided(questions, out):
    """The files of the questions to learn from and of the held-out ones, which have no text in common."""
    rows = [json.loads(line) for line in Path(questions).read_text(encoding="utf-8").splitlines()]
    held_out = rows[::5]
    texts = {row["question"] for row in held_out}
    esp.write_jsonl(out / "questions.jsonl", [row for row in rows if row["question"] not in texts])
    esp.write_jsonl(out / "held_out.jsonl", held_out)
    return out / "questions.jsonl", out / "held_out.jsonl"


def finished(run):
    """A run that left no question open."""
    if run.open:
        raise SystemExit(f"{run.out}: {run.open} questions stay open. Run again to go on. The first: {run.why_open}")
    return run


def main():
    given = options()
    given.out.mkdir(parents=True, exist_ok=True)
    questions, held_out = divided(given.questions, given.out)
    search = dict(one.split("=", 1) for one in given.set)
    common = {"method": "decex", "corpus": given.corpus, "prompts": given.prompts, "constrain": "off"}
    grower, student, before = given.model, given.student, None
    for number in range(1, given.rounds + 1):
        folder = given.out / f"round-{number}"
        form = {} if number == 1 else TRAINED
        trees = finished(
            esp.expand(**common, questions=questions, model=grower, set=form | search, out=folder / "trees")
        )
        print(f"round {number}: EM {trees.summary['em']:.1%} of trees, which saw the gold answers (oracle)", flush=True)
        sft(data=trees.out, model=student, out=folder / "sft", **training(given.train, "sft"))
        dpo(data=trees.out, model=str(folder / "sft"), out=folder / "dpo", **training(given.train, "dpo"))
        student, grower = str(folder / "dpo"), f"hf:{folder / 'dpo'}"
        answers = finished(esp.answer(**common, questions=held_out, model=grower, set=search, out=folder / "answers"))
        em = compare(before or answers.out, answers.out, questions=held_out)["summary"]["em"]
        print(f"round {number}: EM {em['b']['mean']:.1%} of answers to held-out questions", flush=True)
        if before is not None:
            low, high = em["interval"]
            print(f"round {number}: gain of EM {em['difference']:+.1%}, 95 % {low:+.1%} to {high:+.1%}", flush=True)
            if low <= 0:
                print("stopped: the interval does not lie above 0")
                break
        before = answers.out
    print(f"the last model: {student}")


if __name__ == "__main__":
    main()
