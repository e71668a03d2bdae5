"""The claims of the papers: verdicts worked out by hand, one claim from end to end, and the page of its figures."""

import json
import sys
from pathlib import Path

import espalier as esp
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from claims import __main__ as command  # noqa: E402
from claims.claims import CLAIMS  # noqa: E402
from claims.frame import Claim, Frame, NotRun, record  # noqa: E402
from claims.search import Search, figures  # noqa: E402
from claims.table import markdown  # noqa: E402
from claims.verdict import FAILS, HOLDS, OPEN, UNTESTED, alike, bounds, dearer, more, overall, same  # noqa: E402


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.001, 0.005), HOLDS),
        ((0.0, 0.05), OPEN),  # 0 itself is no difference
        ((-0.05, 0.02), OPEN),
        ((-0.05, 0.009), FAILS),  # not one point
        ((-0.05, -0.02), FAILS),
    ],
)
def test_a_difference_holds_above_zero_and_fails_below_one_point(interval, verdict):
    assert more("em", "a", "b").verdict(interval) == verdict


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((-0.01, 0.019), HOLDS), ((-0.03, 0.0), OPEN), ((0.021, 0.05), FAILS), ((-0.05, -0.021), FAILS)],
)
def test_two_are_alike_inside_the_margin(interval, verdict):
    assert alike("em", "a", "b", 0.02).verdict(interval) == verdict


def test_values_of_one_question():
    rows = {"a": {"calls": 11, "em": 1}, "b": {"calls": 2, "em": 0}}
    assert dearer("calls", "a", "b").value(rows) == 9
    assert dearer("calls", "a", "b", 5.5).value(rows) == 0
    assert more("em", "a", "b").value(rows) == 1
    assert same("em", "a", "b", 0.85).value(rows) == 0


def test_a_claim_holds_where_all_its_parts_do():
    assert overall([HOLDS, HOLDS]) == HOLDS
    assert overall([HOLDS, OPEN]) == OPEN
    assert overall([OPEN, FAILS, HOLDS]) == FAILS


def test_arms_that_are_equal_everywhere_test_no_difference():
    equal, other = np.zeros((2, 3)), np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -1.0]])
    assert more("em", "a", "b").untestable(equal) and dearer("calls", "a", "b").untestable(equal)
    assert not more("em", "a", "b").untestable(other)  # equal in the mean alone
    assert not alike("em", "a", "b", 0.02).untestable(equal)  # which is what it claims
    assert overall([HOLDS, UNTESTED, OPEN]) == UNTESTED
    assert overall([UNTESTED, FAILS]) == FAILS


class Fixed:
    """An arm whose questions have the same EM."""

    def __init__(self, em: float, model: str = "fixed") -> None:
        self.em, self.name = em, model

    def described(self, frame: Frame) -> object:
        return [self.em, self.name]

    def rows(self, frame: Frame, seed: int, questions: int) -> list[dict[str, float]]:
        return [{"em": self.em, "calls": 1.0}] * questions

    def model(self, frame: Frame) -> str:
        return self.name

    def weights(self, frame: Frame) -> dict[str, str]:
        return {self.name: f"hash of {self.name}"}


def test_a_claim_is_not_testable_by_equal_arms_and_says_why(tmp_path):
    arms = {"a": Fixed(0.5), "b": Fixed(0.5), "c": Fixed(0.0)}
    row = record("x", Claim("a > b", "?", arms, [more("em", "a", "b"), more("em", "a", "c")]), Frame(tmp_path, seeds=2))
    assert [one["verdict"] for one in row["comparisons"]] == [UNTESTED, HOLDS] and row["verdict"] == UNTESTED
    assert row["reason"] == "both arms of 'em: a - b' are equal in every question of every seed"
    assert row["weights"] == {"fixed": "hash of fixed"} and row["version"] == esp.__version__
    for model, verdict in (("simulated", UNTESTED), ("other", HOLDS)):
        claim = Claim("a > c", "?", {"a": Fixed(1, model), "c": Fixed(0, model)}, [more("em", "a", "c")], equal="it is")
        row = record("x", claim, Frame(tmp_path, seeds=2))
        assert row["verdict"] == verdict and row.get("reason") == ("it is" if model == "simulated" else None)


def test_intervals_are_over_seeds_and_questions():
    assert bounds(np.ones((3, 4))) == (1, 1)
    # Two seeds are drawn of two: both times the bad one in a quarter of the draws, both times the good one in another.
    assert bounds(np.array([[0.0, 0.0], [1.0, 1.0]])) == (0, 1)
    # One question of two is 1 for all five seeds: of two drawn questions, none or both are it, a quarter each.
    assert bounds(np.tile([0.0, 1.0], (5, 1))) == (0, 1)
    low, high = bounds(np.tile([0.0, 1.0], (5, 50)))
    assert 0.38 < low < 0.42 and 0.58 < high < 0.62  # 100 questions: 0.5 and 1.96 * 0.05 on either side


def run(monkeypatch: pytest.MonkeyPatch, out: Path, *more: str) -> tuple[bytes, bytes]:
    monkeypatch.setattr(sys, "argv", ["claims", "--out", str(out), "--seeds", "2", "--questions", "5", *more])
    assert command.main() == 0
    return (out / "results.json").read_bytes(), (out / "table.md").read_bytes()


def test_a_claim_from_end_to_end_and_again_from_its_cells(tmp_path, monkeypatch, capsys):
    base = str(tmp_path / "nothing")
    first = run(monkeypatch, tmp_path, "--only", "decex_factor,prorag_beta", "--base", base)
    held, missing = json.loads(first[0])
    assert (held["model"], held["seeds"], held["questions"]) == ("simulated", 2, 10)
    assert held["command"] == f"python -m claims --only decex_factor --base {base} --seeds 2 --questions 5"
    assert held["weights"] == {}  # the simulated model has none
    assert held["arms"]["no_pruning"]["calls"][0] > held["arms"]["pruned"]["calls"][0] > 1
    assert missing["verdict"] == "not run" and "nothing: there is no such folder" in missing["reason"]
    assert "| simulated | 2 | 10 |" in capsys.readouterr().out

    def nothing_is_asked(*given: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Search, "rows", nothing_is_asked)
    assert run(monkeypatch, tmp_path, "--only", "decex_factor,prorag_beta", "--base", base) == first
    assert run(monkeypatch, tmp_path, "--only", "prorag_beta", "--base", base) == first  # rows of other claims stay


def test_other_seeds_are_other_questions(tmp_path):
    frame = Frame(tmp_path)
    one, other = (frame.world(seed, 3)["questions"].read_text() for seed in (1, 2))
    assert one != other and one == Frame(tmp_path / "again").world(1, 3)["questions"].read_text()


def test_without_a_model_to_train_a_claim_says_so(tmp_path):
    for base in (str(tmp_path / "nothing"), f"gguf:{tmp_path / 'nothing.gguf'}"):
        row = record("decex_stages", CLAIMS["decex_stages"], Frame(tmp_path, base=base))
        assert row["verdict"] == "not run"
        assert "nothing" in row["reason"] and row["reason"].endswith(", give a model by BASE or MODEL")


def test_no_cell_begins_when_the_time_is_up(tmp_path, monkeypatch):
    (late,) = json.loads(run(monkeypatch, tmp_path, "--only", "decouple_beam", "--minutes", "0")[0])
    assert (late["verdict"], late["reason"]) == ("not run", "the time was up, and the same command goes on")
    (held,) = json.loads(run(monkeypatch, tmp_path, "--only", "decouple_beam")[0])
    assert held["questions"] == 10


def test_seeds_that_are_whole_count_when_the_time_is_up(tmp_path, monkeypatch):
    """Two seeds of three are whole. A row that was measured is not replaced by one that was not."""
    cell = Frame.cell

    def until_the_third(frame, arm, seed, questions):
        if seed == 3:
            raise NotRun("the time was up")
        return cell(frame, arm, seed, questions)

    monkeypatch.setattr(Frame, "cell", until_the_third)
    only = ("--only", "decouple_beam")
    (row,) = json.loads(run(monkeypatch, tmp_path, *only, "--seeds", "3")[0])
    assert (row["seeds"], row["reason"]) == (2, "2 of 3 seeds were run: the time was up")
    assert row["verdict"] in (HOLDS, FAILS, OPEN)
    (same_row,) = json.loads(run(monkeypatch, tmp_path, *only, "--minutes", "0", "--questions", "6")[0])
    assert same_row == row


@pytest.mark.parametrize(("readable", "known"), [(4, True), (2, True), (1, False)])
def test_a_failed_question_is_a_wrong_answer_of_a_model_that_knows_the_prompts(tmp_path, readable, known):
    row = {"prompt_tokens": 900, "completion_tokens": 100, "completions": 2, "retrievals": 3}
    answers = [{"id": "a", "status": "done", "answer": "Oslo", **row}]
    answers += [{"id": name, "status": "failed", "answer": None, **row} for name in "bc"]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    purposes = {"step": {"calls": 4, "readable": readable}, "retrieval": {"calls": 0, "readable": 0}}
    (tmp_path / "summary.json").write_text(json.dumps({"by_purpose": purposes}))
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps({"id": name, "golden_answers": ["Oslo"]}) + "\n" for name in "abc"))
    if not known:
        with pytest.raises(NotRun, match="cannot be read"):
            figures(tmp_path, questions)
        return
    costs = {"calls": 2, "retrievals": 3, "tokens": 1}
    assert figures(tmp_path, questions) == [{"em": em, "f1": em, **costs} for em in (1, 0, 0)]


def test_an_unknown_claim_is_refused(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, tmp_path, "--only", "decex_gain")
    assert "--only: decex_gain is no claim" in capsys.readouterr().err


def test_the_page_shows_the_recorded_figures():
    recorded = json.loads((ROOT / "benchmarks/claims/results.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in recorded] == sorted((row["name"] for row in recorded), key=list(CLAIMS).index)
    page = (ROOT / "docs/lab/claims.md").read_text(encoding="utf-8")
    assert page.endswith(markdown(recorded))
