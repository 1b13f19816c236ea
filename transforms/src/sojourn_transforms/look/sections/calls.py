"""Calls: RTP streams of captures, and WebRTC statistics, with MOS or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn_process.printable import counted
from sojourn_transforms.figures import Curve, over_time
from sojourn_transforms.look.content import COUNTED, Column, Evidence, Figure, Section, Table
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.texts import short
from sojourn_transforms.look.view import View

STREAMS_SHOWN = 16
LINES = 5
Items = list[Figure | Table]


def calls_sections(view: View) -> list[Section]:
    """Return the section of calls; none if no file shows any."""
    section = Section("calls", "Calls")
    if view.has("rtp_stream"):
        section.items += _rtp(view)
    if view.has("call_flow"):
        section.items += _set_up(view)
    if view.has("call_poll"):
        section.items += _webrtc(view, section)
    return [section] if section.items or section.absent else []


def _rtp(view: View) -> Items:
    rows = view.rows(
        "capture_rtp_stream", "dataset like 'captures:%'", "packets desc, recording_name, flow_id, direction, ssrc"
    )
    if not rows:
        return []
    for row in rows:
        row["loss_percent"] = None if row["loss_ratio"] is None else 100 * row["loss_ratio"]
        row["mos_bound"], row["why"] = _mos_bound(row)
        row["rate_kbps"] = None if row["rate_bps"] is None else row["rate_bps"] / 1e3
    columns = (
        Column("recording_name", "recording"),
        Column("media_type", "media"),
        Column("packets", "packets"),
        Column("duration_ms", "duration", "ms", 0),
        Column("rate_kbps", "rate", "kbit/s", 1),
        Column("loss_percent", "lost", "%", 3),
        Column("jitter_mean_ms", "mean jitter", "ms", 2),
        Column("rtcp_rtt_mean_ms", "RTT from RTCP", "ms", 1),
        Column("mos_bound", "MOS at most", "1 to 5", 2),
        Column("why", "no MOS because"),
    )
    return [
        Table(
            "rtp",
            "RTP streams",
            columns,
            rows[:STREAMS_SHOWN],
            Evidence("as in the headings", counted(len(rows), "stream"), "none: each row is one stream"),
            f"{STREAMS_SHOWN} of {len(rows):,} streams, those with the most packets"
            if len(rows) > STREAMS_SHOWN
            else "",
            "MOS at most: the E-model (ITU-T G.107) for G.711 with concealment, from the loss before the "
            "capture point and half of the RTT that RTCP reports, if any. Later loss, late packets and bursts "
            "lower the MOS. Runs with a manifest have the full score: docs/quality.md.",
        )
    ]


def _mos_bound(row: Mapping[str, Any]) -> tuple[float | None, str]:
    """Return an upper bound on the MOS of a voice stream, or why there is none."""
    if row["media_type"] not in (None, "audio"):
        return None, f"the stream is {row['media_type']}; G.107 is for voice"
    if row["loss_ratio"] is None:
        return None, "the loss is not known"
    if row["clock_rate_hz"] is not None and row["clock_rate_hz"] > 48_000:
        return None, "the clock rate of the stream is not that of a voice codec"
    from sojourn_statistics.quality.voice import mos_of_rating, network_rating

    one_way_ms = (row["rtcp_rtt_mean_ms"] or 0.0) / 2
    bound = float(mos_of_rating(network_rating(one_way_ms, min(max(row["loss_ratio"], 0.0), 1.0))))
    return bound, "" if row["media_type"] == "audio" else "a bound if the stream is voice, which packets do not show"


def _set_up(view: View) -> Items:
    rows = view.rows("capture_call", "dataset like 'captures:%'", "first_packet_ns, recording_name, flow_id")
    if not rows:
        return []
    columns = (
        Column("recording_name", "recording"),
        Column("protocol", "protocol"),
        Column("duration_ms", "duration", "ms", 0),
        Column("rtp_streams", "RTP streams"),
        Column("media_path", "path", in_words=True),
        Column("media_setup_ms", "time to media", "ms", 1),
        Column("stun_rtt_mean_ms", "RTT from STUN", "ms", 1),
        Column("dtls_handshake_ms", "DTLS handshake", "ms", 1),
        Column("rtcp_packets", "RTCP packets"),
    )
    return [
        Table(
            "call-setup",
            "How calls were set up",
            columns,
            rows[:STREAMS_SHOWN],
            Evidence("ms", counted(len(rows), "flow"), "none: each row is one flow"),
            f"{STREAMS_SHOWN} of {len(rows):,} flows" if len(rows) > STREAMS_SHOWN else "",
        )
    ]


def _webrtc(view: View, section: Section) -> Items:
    items: Items = []
    seconds = view.rows(
        "call_second", order="source_hash, peer_connection, direction, media_kind, ssrc, stream_number, second"
    )
    streams: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in seconds:
        streams.setdefault(
            tuple(
                row[name]
                for name in ("source_hash", "peer_connection", "direction", "media_kind", "ssrc", "stream_number")
            ),
            [],
        ).append(row)
    longest = sorted(streams.values(), key=lambda rows: (-len(rows), str(rows[0])))[:LINES]
    for key, title, column, label, scale in (
        ("rate", "Rates of streams", "rate_bps", "rate (Mbit/s)", 1e6),
        ("rtt", "RTT of streams", "rtt_mean_ms", "RTT (ms)", 1.0),
    ):
        curves = _curves(longest, column, scale)
        if not curves:
            section.absent.append(f"{title} of calls: no poll reports it.")
            continue
        items.append(
            drawn(
                f"call-{key}",
                f"{title} of calls",
                Evidence(
                    label.split("(")[1].rstrip(")"),
                    counted(sum(len(curve.x) for curve in curves), "second") + " of " + counted(len(curves), "stream"),
                    "none: seconds of one call are not independent replicates",
                ),
                [
                    {"series": curve.label, "second": x, column: y}
                    for curve in curves
                    for x, y in zip(curve.x, curve.y, strict=True)
                ],
                lambda axes, curves=curves, label=label: over_time(axes, curves, label, "time in the call (s)"),  # type: ignore[misc]
                note="The longest streams." if len(streams) > LINES else "",
            )
        )
    media = view.rows("call_media", order="source_hash, peer_connection, direction, media_kind")
    for row in media:
        row["lost_percent"] = None if row["lost_ratio"] is None else 100 * row["lost_ratio"]
        row["concealed_percent"] = None if row["concealed_ratio"] is None else 100 * row["concealed_ratio"]
        row["rate_kbps"] = None if row["rate_bps"] is None else row["rate_bps"] / 1e3
    columns = (
        Column("direction", "direction"),
        Column("media_kind", "media"),
        Column("streams", "streams"),
        Column("duration_ms", "duration", "ms", 0),
        Column("rate_kbps", "rate", "kbit/s", 1),
        Column("lost_percent", "lost", "%", 3),
        Column("jitter_mean_ms", "mean jitter", "ms", 1),
        Column("rtt_mean_ms", "mean RTT", "ms", 1),
        Column("freezes", "freezes"),
        Column("frozen_ms", "frozen", "ms", 0),
        Column("concealed_percent", "concealed audio", "%", 2),
    )
    items.append(
        Table(
            "call-media",
            "Calls by direction and media",
            columns,
            media[:STREAMS_SHOWN],
            Evidence("as in the headings", counted(len(media), "row"), COUNTED),
            f"{STREAMS_SHOWN} of {len(media):,} rows" if len(media) > STREAMS_SHOWN else "",
        )
    )
    section.absent.append(
        "MOS of calls with WebRTC statistics: they show loss after the buffer and no mouth-to-ear delay, "
        "which G.107 needs."
    )
    return items


def _curves(streams: Sequence[Sequence[Mapping[str, Any]]], column: str, scale: float) -> list[Curve]:
    curves = []
    for number, rows in enumerate(streams, 1):
        present = [row for row in rows if row[column] is not None]
        if present:
            label = short(f"{number}: {present[0]['direction']} {present[0]['media_kind'] or ''}".strip(), 24)
            first = rows[0]["second"]
            curves.append(
                Curve(label, [row["second"] - first for row in present], [row[column] / scale for row in present])
            )
    return curves
