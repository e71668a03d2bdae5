"""Intervals and tests, against enumeration and numbers worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from espalier.eval import statistics


def test_draws_are_those_of_splitmix64():
    # The published test vector of the generator, seed 1234567.
    assert statistics.bits(1234567, 0, 3).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert statistics.bits(1234567, 2, 1).tolist() == [9817491932198370423]


def test_bootstrap_means_are_distributed_as_an_enumeration_says():
    values = [0.0, 0.25, 1.0]
    exact = sorted(sum(drawn) / 3 for drawn in itertools.product(values, repeat=3))
    means = statistics.bootstrap_means(np.array([values]))[:, 0]
    assert len(means) == statistics.RESAMPLES
    for mean in sorted(set(exact)):  # 27 equally likely samples
        assert np.mean(np.isclose(means, mean)) == pytest.approx(np.mean(np.isclose(exact, mean)), abs=0.015)
    assert statistics.interval(means) == pytest.approx((0.0, 1.0))


def test_the_interval_is_the_middle_95_percent():
    assert statistics.interval(np.arange(1001.0)) == (25.0, 975.0)


def test_bootstrap_means_of_two_runs_are_paired():
    rng = np.random.default_rng(3)
    run = rng.random(40)
    means = statistics.bootstrap_means(np.array([run, run + 0.25, run]))
    assert np.array_equal(means[:, 0], means[:, 2])
    assert means[:, 1] - means[:, 0] == pytest.approx(0.25)


def test_the_blocks_in_which_draws_are_made_change_nothing():
    wide = np.vstack([np.arange(3000.0), np.ones(3000)])
    means = statistics.bootstrap_means(wide, resamples=1500)  # more than one block
    alone = [
        np.mean(((statistics.bits(1, r * 3000, 3000) >> np.uint64(11)).astype(float) * 2.0**-53 * 3000).astype(int))
        for r in (0, 700, 1499)
    ]
    assert means[[0, 700, 1499], 0] == pytest.approx(alone)
    assert means[:, 1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0, 1.0, 1.0], 2 / 8),  # only all plus and all minus are as extreme
        ([1.0, 1.0, -1.0], 1.0),
        ([3.0, 1.0, 1.0, 0.0], 2 / 8),  # a 0 has no sign
        ([3.0, -1.0, 1.0], 6 / 8),  # sums 3 5 1 3 and their negatives: 6 of 8 reach 3
        ([0.1, 0.2, -0.3], 1.0),  # their sum is 0 in any order of adding
        ([0.0, 0.0], 1.0),
        ([], 1.0),
    ],
)
def test_sign_flips_are_enumerated_for_few_differences(differences: list[float], p: float):
    assert statistics.sign_flip_p(differences) == pytest.approx(p)


@pytest.mark.parametrize("size", [1, 2, 5, 9, 13, statistics.EXACT])
def test_exact_p_values_are_right_to_the_last_digit(size: int):
    # Thirds are no binary fractions. All assignments of signs are counted here in whole numbers.
    whole = [(-1) ** i * (1 + (i * i + 3 * size) % 7) for i in range(size)]
    observed = abs(sum(whole))
    reached = sum(
        abs(sum(s * w for s, w in zip(signs, whole, strict=True))) >= observed
        for signs in itertools.product((1, -1), repeat=size)
    )
    assert statistics.sign_flip_p([w / 3 for w in whole]) == pytest.approx(reached / 2**size, rel=0, abs=2e-16)


def test_random_sign_flips_agree_with_the_binomial_distribution():
    # 20 differences of one size, 14 of them positive: the sign test, P(at least 14 or at most 6 of 20).
    differences = [0.5] * 14 + [-0.5] * 6
    assert statistics.sign_flip_p(differences) == pytest.approx(2 * 60460 / 2**20, abs=0.01)
    assert statistics.sign_flip_p(differences) == statistics.sign_flip_p(differences)
    assert statistics.sign_flip_p([1.0] * 60) == 1 / (1 + statistics.RESAMPLES)  # never 0


def test_holm_adjusts_step_by_step():
    # sorted 0.01 0.02 0.03 0.04: times 4, 3, 2, 1 = 0.04 0.06 0.06 0.04, then never less than before
    assert statistics.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert statistics.holm([0.5, 0.6]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_a_paired_test_has_difference_interval_and_p():
    base, values = np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0])
    means = statistics.bootstrap_means(np.array([values, base]))
    test = statistics.paired_test(values, base, means[:, 0] - means[:, 1])
    assert test["difference"] == pytest.approx(2 / 3)
    assert test["interval"] == pytest.approx((0.0, 1.0))
    assert test["p"] == pytest.approx(0.5)  # two differences: ++ and -- of four
