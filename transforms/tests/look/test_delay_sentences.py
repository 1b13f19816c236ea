"""The sentences with which a page of several runs begins."""

from __future__ import annotations

from typing import Any

from sojourn_transforms.look.sections.findings import delay_sentences


def row(queue: str | None, role: str, **values: Any) -> dict[str, Any]:
    return {"queue_label": queue, "role": role, "exclusion_reason": None} | values


def test_runs_of_a_queue_are_told_with_their_median_and_range() -> None:
    rows = [row("CoDel", "app", p95_ms=value) for value in (40.0, 42.0, 47.0)]
    rows += [row("CoDel", "all", p95_ms=900.0), row("CoDel", "app", p95_ms=800.0) | {"exclusion_reason": "lost events"}]
    rows += [row("PIE", "app", p95_ms=12.34)]
    assert delay_sentences(rows) == [
        "With CoDel, 95 % of the application's packets waited at most 42.0 ms (median of 3 runs, 40.0 to 47.0 ms).",
        "With PIE, 95 % of the application's packets waited at most 12.3 ms.",
    ]


def test_without_packets_it_is_what_load_adds_to_a_ping() -> None:
    assert delay_sentences([row("pfifo", "all", added_delay_ms=95.0)]) == ["With pfifo, load adds 95.0 ms."]
    assert delay_sentences([row(None, "all", added_delay_ms=95.0)]) == ["Load adds 95.0 ms."]


def test_runs_without_a_delay_have_no_sentence() -> None:
    assert delay_sentences([row("CoDel", "app", p95_ms=None)]) == []
