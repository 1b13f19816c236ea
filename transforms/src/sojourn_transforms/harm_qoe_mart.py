"""The mart ``harm_qoe_correlation``: how harm correlates with quality, computed from the marts of the models."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from sojourn_statistics.correlation.harm_qoe_table import COLUMNS, correlate_harm_and_qoe
from sojourn_transforms.mart import MART_LAYER, Mart, MartColumn

HARM_QOE_CORRELATION = Mart(
    name="harm_qoe_correlation",
    description=(
        "Correlation over runs of an application's harm with a quality score, by application and queue: for each link, "
        "and over all links. Only groups in which a run has both; the columns next to it count rows of either "
        "side without a partner; qoe_join counts them for a whole study."
    ),
    grain="one harm metric and quality metric of one application at one queue",
    key=("harm_qoe_correlation_id",),
    columns=tuple(MartColumn(column.name, column.unit, column.description, column.nullable) for column in COLUMNS),
)

_PAIRS = f"""
select
    harms.study_id, harms.run_id, scored.qoe_metric, harms.harm_metric, harms.application, harms.workload, harms.aqm,
    harms.queue_label, harms.bandwidth_bps, harms.rtt_ms, harms.exclusion_reason, harms.harm_ratio, scores.qoe_score
from {MART_LAYER}.run_metric_harm as harms
inner join (select distinct study_id, qoe_metric from {MART_LAYER}.harm_qoe) as scored using (study_id)
left join {MART_LAYER}.harm_qoe as scores
    on harms.study_id = scores.study_id and harms.run_id = scores.run_id and scored.qoe_metric = scores.qoe_metric
where harms.role = 'app'
"""


def harm_qoe_correlations(query: Callable[[str], pa.Table]) -> pa.Table:
    """Return the correlations of the marts, of which ``query`` gives the rows of a statement."""
    return correlate_harm_and_qoe(query(_PAIRS).to_pylist())
