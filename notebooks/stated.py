"""What the studies state of their own runs, as figures draw it beside what was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

import pandas as pd
from figures import records

CONGESTED = {"upstream": "upstream", "downstream": "downstream", "both": "bidirectional"}


class Rows(Protocol):
    """What reads the datasets of a build: the client of the API."""

    def rows(self, dataset: str, **filters: Any) -> pd.DataFrame:
        """Return the rows of a dataset under filters."""


def of_findings(api: Rows, findings: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the findings state, a row each: subject, condition, stated_low and stated_high."""
    if not findings:
        return []  # a filter without values is none
    rows = api.rows("published_comparison", finding_id=list(findings))
    return records(rows.drop_duplicates("finding_id"))


def shares_of_imc21(api: Rows) -> list[dict[str, Any]]:
    """Return the shares of IMC'21's applications at 0.5 Mbit/s downlink: application, against and stated_low."""
    rows = api.rows("published_comparison", study_id="imc21-vca", metric_unit="ratio")
    rows = rows[rows.reference.str.startswith("table of shares")].drop_duplicates("finding_id").copy()
    rows["application"] = rows.subject.str.replace("link share of ", "")
    rows["against"] = rows.condition.str.extract("against (.*?)(?:,|$)", expand=False)
    return records(rows)


def maximum_delays_ms(api: Rows, direction: str, bandwidth_bps: float) -> dict[int, float]:
    """Return what Table 2 of IMC'14 states for each buffer in packets at a rate of the link; nothing at others."""
    subject = f"{direction} queuing delay at {bandwidth_bps / 1e6:g} Mbit/s"
    rows = api.rows("published_comparison", study_id="imc14-buffers", subject=subject)
    return {
        int(size.group()): float(stated)
        for words, stated in zip(rows.condition, rows.stated_low, strict=True)
        if (size := re.match(r"\d+", words))
    }


def mean_utilisation_percent(api: Rows, workload: str, congested: str, direction: str) -> float | None:
    """Return what Table 1 of IMC'14 states of a workload of its access link, in percent; None without such a line."""
    condition = f"{workload} {CONGESTED.get(congested, congested)}, {direction}"
    rows = api.rows("published_comparison", study_id="imc14-buffers", subject="link utilisation, access")
    stated_low = rows[rows.condition == condition].stated_low
    return float(stated_low.iloc[0]) if len(stated_low) else None
