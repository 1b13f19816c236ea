"""Sizes of queues and the words for tc."""

from __future__ import annotations

import pytest

from sojourn_testbed.queue_disciplines import Queue, SetQueue


def child(queue: Queue, rate_bps: int = 1_000_000, rtt_ms: float = 50) -> str:
    return " ".join(SetQueue(queue, rate_bps, rtt_ms).commands("btl")[-1][8:])


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        # BDP of 1 Mbit/s and 50 ms: 6250 bytes.
        (Queue(discipline="tail-drop", size_bdp=2), "bfifo limit 12500"),
        (Queue(discipline="tail-drop", size_packets=8), "pfifo limit 8"),
        (Queue(discipline="tail-drop", size_bytes=20_000), "bfifo limit 20000"),
        (Queue(discipline="codel"), "codel"),
        (
            Queue(discipline="codel", size_bdp=2, target_ms=15, interval_ms=100),
            "codel limit 8 target 15ms interval 100ms",
        ),
        (Queue(discipline="fq_codel", ecn=False), "fq_codel noecn"),
        (Queue(discipline="pie", target_ms=15), "pie target 15ms"),
        (Queue(discipline="dualpi2", size_packets=1000, target_ms=15), "dualpi2 limit 1000 target 15ms"),
    ],
)
def test_words_for_tc(queue: Queue, words: str) -> None:
    assert child(queue).split(" handle b1: ")[-1].endswith(words)


def test_cake_shapes_by_itself() -> None:
    (command,) = SetQueue(Queue(discipline="cake"), 1_000_000, 50).commands("btl")
    assert " ".join(command) == "tc qdisc add dev btl root handle b0: cake bandwidth 1000000bit besteffort rtt 50ms"


def test_a_queue_holds_a_frame_at_least() -> None:
    assert SetQueue(Queue(discipline="tail-drop", size_bdp=0.01), 100_000, 10).size_bytes == 1514
