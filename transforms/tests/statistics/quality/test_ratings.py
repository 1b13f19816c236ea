"""Summaries of ratings: against published figures and by hand."""

from __future__ import annotations

import math

import pytest

from sojourn_statistics.quality.ratings import are_apart, paired_difference, summary


def test_interval_and_normality_of_a_published_example() -> None:
    """Shapiro and Wilk 1965, weights of 11 men in pounds: W = 0.79."""
    ratings = summary([148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236], 0, 300)
    assert ratings.normality_w is not None
    assert round(ratings.normality_w, 2) == 0.79
    assert ratings.normality_p is not None
    assert ratings.normality_p < 0.01
    assert ratings.mean == 172


def test_t_interval_by_hand() -> None:
    # 3, 4, 5: mean 4, deviation 1, t of 2 degrees of freedom 4.302653.
    ratings = summary([3, 4, 5], 1, 7)
    assert (ratings.subjects, ratings.mean, ratings.standard_deviation) == (3, 4, 1)
    assert ratings.lower == pytest.approx(4 - 4.302652729911275 / math.sqrt(3))
    assert ratings.upper == pytest.approx(4 + 4.302652729911275 / math.sqrt(3))


def test_one_rating_has_no_interval_and_two_no_test() -> None:
    one = summary([4], 1, 7)
    assert (one.lower, one.standard_deviation, one.interval_null_reason) == (None, None, "one rating")
    assert one.normality_null_reason == "fewer than 3 ratings"
    two = summary([4, 5], 1, 7)
    assert two.lower is not None
    assert (two.normality_w, two.normality_null_reason) == (None, "fewer than 3 ratings")
    assert summary([4, 4, 4], 1, 7).normality_null_reason == "all ratings are equal"


def test_a_rating_off_its_scale_is_refused() -> None:
    for ratings in ([0, 4], [8], [math.nan, 4], []):
        with pytest.raises(ValueError):
            summary(ratings, 1, 7)


def test_overlapping_intervals_may_hide_a_difference_that_pairs_show() -> None:
    first, second = [2, 3, 4, 5, 6, 3, 4, 5], [3, 4, 5, 5, 7, 4, 5, 6]
    assert are_apart(summary(first, 1, 7), summary(second, 1, 7)) is False
    paired = paired_difference(first, second)
    assert paired.p_value is not None
    assert paired.p_value < 0.001
    assert (paired.subjects, paired.mean) == (8, 0.875)
    assert are_apart(summary([1, 1, 2], 1, 7), summary([6, 7, 7], 1, 7)) is True
    assert are_apart(summary([1], 1, 7), summary([6, 7, 7], 1, 7)) is None


def test_paired_difference_without_a_test_says_why() -> None:
    assert paired_difference([1], [3]).null_reason == "one subject"
    equal = paired_difference([1, 2], [2, 3])
    assert (equal.p_value, equal.null_reason, equal.mean) == (None, "all differences are equal", 1)
    with pytest.raises(ValueError, match="both of each subject"):
        paired_difference([1], [1, 2])
