"""Rows, distributions and comparisons as one kind of table: pandas, Polars or Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from sojourn_client.parameters import (
    Analysis,
    BinsPerOctave,
    ComparedMetric,
    Correction,
    DistributionMetric,
    Effect,
    Excluded,
    Factor,
    Filter,
    Names,
    Numbers,
    OutcomeMetric,
    ReplicationUnit,
    Statistic,
    Value,
    query_of,
)
from sojourn_client.reading import Reader

if TYPE_CHECKING:
    import pyarrow as pa

Frame = TypeVar("Frame")


class Answers(Generic[Frame]):
    """Complete results, each as one table of a kind.

    Keywords that are not parameters of the endpoint are filters: ``aqm="codel"``, ``aqm=["codel", "pie"]``,
    ``rtt_ms__lt=50``, ``congestion_control__null=True`` (docs/api.md). A column with the name of a parameter is
    reached as ``order__eq=…``.

    Parameters
    ----------
    reader : Reader
    convert : callable
        Makes the table of an Arrow table and the id of the build that it is of.
    """

    def __init__(self, reader: Reader, convert: Callable[[pa.Table, str], Frame]) -> None:
        self._reader = reader
        self._convert = convert

    def rows(
        self,
        dataset: str,
        /,
        *,
        select: Names | None = None,
        order: Names | None = None,
        group: Names | None = None,
        aggregate: Names | None = None,
        sample: float | None = None,
        seed: int | None = None,
        limit: int | None = None,
        excluded: Excluded | None = None,
        **filters: Filter,
    ) -> Frame:
        """Return the rows of a dataset under filters, or with `group` or `aggregate` one row per group.

        Parameters
        ----------
        dataset : str
            Its name, as `Client.datasets` lists it.
        select : names, optional
            Columns; default: all.
        order : names, optional
            Columns to order by, `-` before a descending one. The key is added, so that the order is total.
        group : names, optional
            Columns to group by.
        aggregate : names, optional
            ``function:column``, such as ``median:harm_ratio``.
        sample : float, optional
            Share of the rows, above 0 and below 1: the same rows each time.
        seed : int, optional
            Selects a different sample; default: 0.
        limit : int, optional
            Maximum number of rows to return, at least 1: the first ones in the order. Default: all.
        excluded : optional
            Whether runs that are excluded with a reason are left out.
        **filters
            Conditions, all of which a row satisfies.
        """
        query = query_of(
            filters,
            select=select,
            order=order,
            group=group,
            aggregate=aggregate,
            sample=sample,
            seed=seed,
            excluded=excluded,
        )
        return self._convert(*self._reader.table(dataset, query, limit))

    def distribution(
        self,
        metric: DistributionMetric,
        /,
        *,
        group: Names | None = None,
        statistic: Statistic | None = None,
        quantiles: Numbers | None = None,
        thresholds_ms: Numbers | None = None,
        bins_per_octave: BinsPerOctave | None = None,
        over: ReplicationUnit | None = None,
        excluded: Excluded | None = None,
        **filters: Filter,
    ) -> Frame:
        """Return a distribution of each group, one row per point of it.

        Parameters
        ----------
        metric : str
        group : names, optional
            Columns to group by.
        statistic : optional
            Default: ``quantiles``.
        quantiles : numbers, optional
            From 0 to 1.
        thresholds_ms : numbers, optional
            In ms; needed with ``statistic="thresholds"``.
        bins_per_octave : optional
            Bins per doubling of the delay, for ``cdf`` and ``pdf``.
        over : optional
            Unit of replication of intervals, for ``quantiles`` and ``thresholds``: the median over the runs, days or
            months of a group, or its hosts themselves.
        excluded : optional
            Whether runs that are excluded with a reason are left out.
        **filters
            Conditions, all of which a row satisfies.
        """
        query = query_of(
            filters,
            group=group,
            statistic=statistic,
            quantiles=quantiles,
            thresholds_ms=thresholds_ms,
            bins_per_octave=bins_per_octave,
            over=over,
            excluded=excluded,
        )
        return self._convert(*self._reader.whole(f"/v1/distributions/{metric}", query))

    def outcomes(
        self,
        metric: OutcomeMetric,
        /,
        *,
        group: Names | None = None,
        percentiles: Numbers | None = None,
        excluded: Excluded | None = None,
        **filters: Filter,
    ) -> Frame:
        """Return scores of quality of outcome of each group, one row per percentile of it.

        Parameters
        ----------
        metric : str
        group : names, optional
            Columns to group by.
        percentiles : numbers, optional
            Whole numbers from 1 to 99; default: 50, 75, 90, 95 and 99. Scores of runs: 50, 95 and 99.
        excluded : optional
            Whether runs that are excluded with a reason are left out.
        **filters
            Conditions, all of which a row satisfies.
        """
        query = query_of(filters, group=group, percentiles=percentiles, excluded=excluded)
        return self._convert(*self._reader.whole(f"/v1/outcomes/{metric}", query))

    def comparisons(
        self,
        metric: ComparedMetric,
        /,
        *,
        factor: Factor | None = None,
        baseline: Value | None = None,
        analysis: Analysis | None = None,
        correction: Correction | None = None,
        level: float | None = None,
        threshold_ms: float | None = None,
        margin: float | None = None,
        effect: Effect | None = None,
        excluded: Excluded | None = None,
        **filters: Filter,
    ) -> Frame:
        """Return comparisons of configurations that are equal in everything but a factor, with their verdicts.

        Parameters
        ----------
        metric : str
        factor : optional
            Needed, except with ``analysis="modes"``.
        baseline : optional
            Value of the factor that others are compared with; needed, except with ``groups`` and ``modes``.
        analysis : optional
            Default: ``shift``.
        correction : optional
            Of p-values; default: ``holm``.
        level : float, optional
            Confidence of the intervals: 0.9, 0.95 or 0.99; default: 0.95.
        threshold_ms : float, optional
            For metrics that are shares.
        margin : float, optional
            Smallest difference that matters, in the unit of the metric.
        effect : optional
            ``difference``, the default, or ``ratio``.
        excluded : optional
            Whether runs that are excluded with a reason are left out.
        **filters
            Conditions, all of which a row satisfies.
        """
        query = query_of(
            filters,
            factor=factor,
            baseline=baseline,
            analysis=analysis,
            correction=correction,
            level=level,
            threshold_ms=threshold_ms,
            margin=margin,
            effect=effect,
            excluded=excluded,
        )
        return self._convert(*self._reader.whole(f"/v1/comparisons/{metric}", query))
