"""Clustered values: connections of one host or AS, runs of one day. The unit of replication is the cluster.

References
----------
.. [1] K.-Y. Liang and S. L. Zeger, "Longitudinal data analysis using generalized linear models", Biometrika
   73(1), 1986, https://doi.org/10.1093/biomet/73.1.13.
.. [2] A. C. Cameron and D. L. Miller, "A practitioner's guide to cluster-robust inference", Journal of Human
   Resources 50(2), 2015, https://doi.org/10.3368/jhr.50.2.317 (few clusters, t with G - 1).
.. [3] C. A. Field and A. H. Welsh, "Bootstrapping clustered data", Journal of the Royal Statistical Society B
   69(3), 2007, https://doi.org/10.1111/j.1467-9868.2007.00593.x (bootstrap of whole clusters).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.intervals.order_statistics import exact_product_ceiling
from sojourn_statistics.samples.arrays import Integers, Reals, level_checked, sample
from sojourn_statistics.samples.estimate import LEVEL, Estimate, Interval, estimate
from sojourn_statistics.samples.resampling import RESAMPLES, percentile_bounds, resample_counts

FEW_CLUSTERS = 20
"""Below this, cluster-robust intervals cover less than they say, most of all when cluster sizes differ."""

FEWEST_FOR_QUANTILE = 10


def _clusters(values: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[Reals, Integers, int]:
    checked = sample(values)
    labels, codes = np.unique(np.asarray(clusters), return_inverse=True)
    if codes.shape != checked.shape:
        raise ValueError(f"values and clusters must have one length, got {checked.size} and {codes.size}")
    return checked, codes.astype(np.int64), int(labels.size)


def _notes(n_values: int, clusters: int) -> tuple[str, ...]:
    notes = (f"{n_values} values",)
    return (*notes, f"few clusters: below {FEW_CLUSTERS}") if clusters < FEW_CLUSTERS else notes


def _one_cluster(replication_unit: str) -> str:
    return f"one {replication_unit}: no interval"


def cluster_mean(
    values: npt.ArrayLike, clusters: npt.ArrayLike, replication_unit: str = "host", level: float = LEVEL
) -> Estimate:
    """Estimate the mean over all values, with the cluster-robust (sandwich) variance [1]_.

    Parameters
    ----------
    values : float, shape (n,)
    clusters : any sortable, shape (n,)
        The cluster of each value.
    replication_unit : str
        What a cluster is.
    level : float

    Returns
    -------
    Estimate
        In the unit of the values; `n` is the number of clusters. Variance with the correction G / (G - 1),
        t with G - 1 degrees of freedom [2]_. Approximate; flagged below 20 clusters, refused for one.
    """
    checked, codes, count = _clusters(values, clusters)
    name = "mean, cluster-robust"
    if count == 1:
        return estimate(float(checked.mean()), name, replication_unit, (1,), _one_cluster(replication_unit))
    import statsmodels.api as sm

    fitted = sm.OLS(checked, np.ones((checked.size, 1))).fit(
        cov_type="cluster", cov_kwds={"groups": codes, "use_correction": True, "df_correction": True}, use_t=True
    )
    lower, upper = fitted.conf_int(1 - level_checked(level))[0]
    interval = Interval(float(lower), float(upper), level, "cluster-robust variance, t")
    return estimate(float(fitted.params[0]), name, replication_unit, (count,), interval, _notes(checked.size, count))


def cluster_bootstrap_mean(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    replication_unit: str = "host",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate the mean over all values, with the bootstrap of whole clusters [3]_.

    Parameters
    ----------
    values, clusters, replication_unit, level
        As in `cluster_mean`.
    resamples : int

    Returns
    -------
    Estimate
        Expanded percentile interval, fixed seed. Approximate; flagged below 20 clusters, refused for one.
    """
    checked, codes, count = _clusters(values, clusters)
    name = "mean, cluster bootstrap"
    if count == 1:
        return estimate(float(checked.mean()), name, replication_unit, (1,), _one_cluster(replication_unit))
    sums = np.bincount(codes, weights=checked).astype(np.float64)
    sizes = np.bincount(codes).astype(np.int64)
    lower, upper = cluster_mean_bootstrap_bounds(sums, sizes, level_checked(level), resamples)
    interval = Interval(float(lower), float(upper), level, f"cluster bootstrap of {resamples}, expanded percentile")
    return estimate(float(checked.mean()), name, replication_unit, (count,), interval, _notes(checked.size, count))


def cluster_mean_bounds(sums: Reals, sizes: Integers, level: float) -> tuple[Reals, Reals]:
    """Return the cluster-robust bounds of the mean from cluster sums and sizes along the last axis, shape (…).

    The same interval as that of `cluster_mean`, from only the totals of the clusters.
    """
    count = sums.shape[-1]
    total = sizes.sum(axis=-1)
    centre = sums.sum(axis=-1) / total
    residuals = sums - centre[..., None] * sizes
    error = np.sqrt(count / (count - 1) * (residuals**2).sum(axis=-1)) / total
    half = scipy.stats.t.ppf(0.5 + level / 2, count - 1) * error
    return centre - half, centre + half


def cluster_mean_bootstrap_bounds(
    sums: Reals, sizes: Integers, level: float, resamples: int = RESAMPLES
) -> tuple[Reals, Reals]:
    """Return the bounds of the mean from cluster sums and sizes along the last axis, shape (…)."""
    counts = resample_counts(sums.shape[-1], resamples)
    # Summed in one fixed order, unlike a product of matrices, whose order depends on the library and its threads.
    replicates = np.einsum("...j,ij->...i", sums, counts) / np.einsum("...j,ij->...i", sizes, counts)
    return percentile_bounds(replicates, sums.shape[-1], level)


def cluster_bootstrap_quantile(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    probability: float = 0.5,
    replication_unit: str = "host",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate a quantile over all values, with the bootstrap of whole clusters [3]_.

    Parameters
    ----------
    values, clusters, replication_unit, level
        As in `cluster_mean`.
    probability : float
        Strictly between 0 and 1; inverted CDF.
    resamples : int

    Returns
    -------
    Estimate
        Expanded percentile interval, fixed seed. Approximate; refused below 10 clusters, flagged below 20.
    """
    if not 0 < probability < 1:
        raise ValueError(f"a quantile lies strictly between 0 and 1, got {probability}")
    checked, codes, count = _clusters(values, clusters)
    order = np.argsort(checked, kind="stable")
    ordered = checked[order]
    value = float(ordered[exact_product_ceiling(probability, ordered.size) - 1])
    name = f"quantile {probability:g}, cluster bootstrap"
    if count < FEWEST_FOR_QUANTILE:
        reason = (
            _one_cluster(replication_unit)
            if count == 1
            else f"{count} clusters: the bootstrap of a quantile needs {FEWEST_FOR_QUANTILE}"
        )
        return estimate(value, name, replication_unit, (count,), reason)
    counts = resample_counts(count, resamples)
    ordered_codes = codes[order]
    replicates = np.empty(resamples)
    for row in range(resamples):  # one row at a time: n may be millions of connections
        cumulative = np.cumsum(counts[row, ordered_codes])
        rank = exact_product_ceiling(probability, int(cumulative[-1]))
        replicates[row] = ordered[np.searchsorted(cumulative, rank, side="left")]
    lower, upper = percentile_bounds(replicates, count, level_checked(level))
    interval = Interval(float(lower), float(upper), level, f"cluster bootstrap of {resamples}, expanded percentile")
    return estimate(value, name, replication_unit, (count,), interval, _notes(checked.size, count))
