"""The ranks by which SQL bounds a percentile hold 95 % for every number of values, by the exact binomial."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
import scipy
from jinja2 import Environment

from sojourn_statistics.intervals.order_statistics import quantile_ranks

LARGEST = 5000


def test_the_lower_rank_of_a_median_is_never_too_large_and_at_most_one_too_small(repository: Path) -> None:
    text = (repository / "models/macros/connection/groups_of_lines.sql").read_text()
    match = re.search(r"macro lower_rank_of_median\(n\) -%\}\n(.*?)\{%-", text, re.DOTALL)
    assert match is not None
    expression = match[1].replace("{{ n }}", "n")
    with duckdb.connect() as connection:
        rows = connection.execute(
            f"select n, {expression} from range(6, {LARGEST}) as numbers(n) order by n"
        ).fetchall()
    n, ranks = np.array(rows).T
    confidence = 1 - 2 * scipy.stats.binom.cdf(ranks - 1, n, 0.5)
    assert confidence.min() >= 0.95
    exact = [quantile_ranks(int(number), 0.5) for number in n]
    shortest = np.array([ranks_of[0] if ranks_of is not None else 0 for ranks_of in exact])
    assert (shortest > 0).all()
    assert set((shortest - ranks).tolist()) <= {0, 1}
    # One value fewer than six has no interval, which the mart's condition on lines says.
    assert quantile_ranks(5, 0.5) is None


@pytest.mark.parametrize("percentile", [50, 75, 90, 95, 99])
def test_ranks_of_a_percentile_enclose_it_wherever_there_are_enough_values(repository: Path, percentile: int) -> None:
    text = (repository / "models/macros/connection/groups_of_lines.sql").read_text()
    macros = Environment(autoescape=False).from_string(text).module
    lower, upper = (
        str(getattr(macros, f"{side}_rank_of_quantile")(str(percentile), "n")) for side in ("lower", "upper")
    )
    with duckdb.connect() as connection:
        rows = connection.execute(
            f"select n, {lower}, {upper} from range(1, {LARGEST}) as numbers(n) order by n"
        ).fetchall()
    enclosing = np.array([row for row in rows if row[1] >= 1 and row[2] <= row[0]])
    n, first, last = enclosing.T
    share = percentile / 100
    held = scipy.stats.binom.cdf(last - 1, n, share) - scipy.stats.binom.cdf(first - 1, n, share)
    assert held.min() >= 0.95
    # Few more values are asked for than the exact ranks need, and the interval is few ranks wider.
    fewest = next(number for number in range(1, LARGEST) if quantile_ranks(number, share) is not None)
    assert fewest <= n[0] <= 2 * fewest
    exact = quantile_ranks(int(n[-1]), share)
    assert exact is not None
    assert 0 <= (last[-1] - first[-1]) - (exact[1] - exact[0]) <= 4
