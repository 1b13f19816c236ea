"""Requests in docs/api.md and docs/how-to/which-table.md, over the bundled sample and generated connections."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Service

pytestmark = pytest.mark.integration
REQUEST = re.compile(r"(?:127\.0\.0\.1:8000|`)(/v1/[^\s'`]+\?[^\s'`]+)")


@pytest.mark.parametrize(("page", "least"), [("docs/api.md", 12), ("docs/how-to/which-table.md", 2)])
def test_every_documented_request_has_rows(service: Service, repository: Path, page: str, least: int) -> None:
    requests = REQUEST.findall((repository / page).read_text(encoding="utf-8"))
    assert len(requests) >= least
    for request in requests:
        answer = service.client.get(request)
        assert answer.status_code == 200, (request, answer.text)
        rows = answer.text.splitlines()[1:] if "format=csv" in request else answer.json()["rows"]
        assert rows, request


def test_documented_delays_of_queues_have_intervals(service: Service, repository: Path) -> None:
    text = (repository / "docs/api.md").read_text(encoding="utf-8")
    (request,) = (example for example in REQUEST.findall(text) if "over=run" in example)
    rows = service.client.get(request).json()["rows"]
    assert {(row["queue_label"], row["congestion_control"]) for row in rows} == {
        (queue, control)
        for queue in ("CoDel", "FQ-CoDel", "tail-drop 2 BDP", "tail-drop 10 BDP")
        for control in ("bbr", "cubic")
    }
    assert [row for row in rows if row["interval_null_reason"]] == []


def test_delays_by_technology_and_country_have_intervals_over_days_and_over_hosts(
    service: Service, repository: Path
) -> None:
    text = (repository / "docs/how-to/which-table.md").read_text(encoding="utf-8")
    over_days, over_hosts = REQUEST.findall(text)
    limits = [
        {
            (row["access_technology"], row["country"]): row["queuing_delay_lower_ms"]
            for row in service.client.get(f"{request}&synthetic=true&quantiles=0.5").json()["rows"]
            if row["queuing_delay_lower_ms"] is not None
        }
        for request in (over_days, over_hosts)
    ]
    both = set(limits[0]) & set(limits[1])
    assert len(both) > 20
    assert [group for group in both if limits[0][group] >= limits[1][group]] == []


def test_the_documented_comparison_of_technologies_has_the_intervals_that_the_page_says(
    service: Service, repository: Path
) -> None:
    text = (repository / "docs/api.md").read_text(encoding="utf-8")
    by_network, by_country = (example for example in REQUEST.findall(text) if "/connection_delay_share?" in example)
    rows = {row["treatment"]: row for row in service.client.get(by_network).json()["rows"]}
    assert rows["unknown"]["effect_lower"] is not None
    assert f"`{rows['cable']['verdict']}`" in text
    for metric in ("connection_delay_share_by_host", "host_delay_share"):
        by_host = by_network.replace("connection_delay_share", metric) + "&period_kind=all"
        assert {row["treatment"] for row in service.client.get(by_host).json()["rows"]} == {"unknown"}
    countries = service.client.get(by_country).json()["rows"]
    assert {row["effect_lower"] is not None for row in countries if row["treatment_n"] >= 10} == {True}
