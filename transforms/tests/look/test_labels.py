"""Labels of curves and axes are apart, also of series whose names differ only in their middle or in an address."""

from __future__ import annotations

import json
from pathlib import Path

from sojourn_transforms.look.content import Figure
from sojourn_transforms.look.looking import look
from sojourn_transforms.look.texts import short_apart

START_S = 1_700_000_000


def test_a_label_is_longer_only_so_it_differs() -> None:
    assert short_apart(["delay of the first router behind", "x"], 12) == ["delay …ehind", "x"]
    long = [f"results of the long test number {number} of the evening, {day}" for number in (1, 2) for day in "ab"]
    labels = short_apart(long, 40)
    assert len(set(labels)) == 4
    assert all(len(label) <= 80 for label in labels)


def test_what_differs_only_in_an_address_has_a_number() -> None:
    labels = short_apart(["ICMP 10.0.0.1 (extra)", "ICMP 10.0.0.2 (extra)", "ICMP 10.0.0.3 (extra)"])
    assert len(set(labels)) == 3
    assert not any("10.0.0" in label for label in labels)
    assert [label[-3:] for label in labels[1:]] == ["(2)", "(3)"]
    # A text that is already called so does not meet it.
    assert short_apart(["a", "a (2)", "a"]) == ["a", "a (2)", "a (3)"]


def flent_file(path: Path) -> Path:
    """Write four uploads, and pings to four hosts at different distances."""
    raw = {
        f"Ping (ms) ICMP 10.0.0.{host} (extra)": [
            {"t": START_S + n, "val": 20.0 * host + n % 3, "seq": n} for n in range(20)
        ]
        for host in range(1, 5)
    } | {
        f"TCP cubic {flow}": [{"t": START_S + 5 + n, "val": 1.0 + flow, "dur": 1.0} for n in range(10)]
        for flow in range(1, 5)
    }
    metadata = {
        "NAME": "tcp_4up", "TITLE": "", "T0": "2023-11-14T22:13:20Z", "HOST": "h", "LOCAL_HOST": "l",
        "SERIES_META": {name: {"UNITS": "ms" if name.startswith("Ping") else "Mbits/s"} for name in raw},
    }  # fmt: skip
    document = {
        "version": 4,
        "metadata": metadata,
        "raw_values": raw,
        "results": {name: [] for name in raw},
        "x_values": [],
    }
    path.write_text(json.dumps(document))
    return path


def test_pings_at_several_distances_are_told_apart_and_four_flows_are_seen(tmp_path: Path) -> None:
    page = look([flent_file(tmp_path / "tcp_4up.flent")], lambda _: None, 2).page
    (delay,) = [
        item for section in page.sections for item in section.items
        if isinstance(item, Figure) and item.key.startswith("tool-delay-")
    ]  # fmt: skip
    labels = {row["series"] for row in delay.data}
    assert len(labels) == 4, labels
    absent = " ".join(text for section in page.sections for text in section.absent)
    assert "no run has rates of two roles, or of exactly two TCP flows. Jain's index of more flows" in absent
