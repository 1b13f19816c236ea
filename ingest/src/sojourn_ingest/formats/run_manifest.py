"""Run manifests (JSON or YAML, schema testbed-manifest/1): run, run_flow, run_source."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sojourn_ingest.formats.capture import RtpHint
from sojourn_ingest.formats.capture_pair import CapturePair
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.formats.plain_text import open_plain
from sojourn_ingest.formats.rotation import COMPRESSION_SUFFIXES, parse, plain_name, recording_hash, recordings_among
from sojourn_ingest.formats.validation import one_line
from sojourn_ingest.schema import table

SCHEMA = "testbed-manifest/1"
SCHEMA_ENTRY = re.compile(rb"""(?:^|[{,])\s*"?schema"?\s*:\s*["']?""" + re.escape(SCHEMA.encode()), re.MULTILINE)
MAX_BYTES = 16 * 2**20

# What a file of a run's folder measures, by its name without a compression suffix. Of several files with one
# measurement the first counts.
MEASUREMENTS = {
    "before.pcap": "capture_before",
    "after.pcap": "capture_after",
    "queue_bpftrace.txt": "queue_log",
    "queue.qmon": "queue_log",
    "queue_perf.txt": "queue_log",
    "queue.csv": "queue_log",
    "queue.jsonl": "queue_log_decoded",
    "qdisc_stats.jsonl": "queue_counters",
    "ss_raw.jsonl": "tcp_polls",
    "vmaf.json": "frame_vmaf",
    "vmaf.xml": "frame_vmaf",
    "vmaf.csv": "frame_vmaf",
    "ssim.log": "frame_ssim",
    "psnr.log": "frame_psnr",
    "page_loads.har": "page_loads",
    "page_loads.jsonl": "page_loads",
}

AQM_NAMES = {"bfifo": "tail-drop", "pfifo": "tail-drop", "pfifo_fast": "tail-drop"}

Count = Annotated[int, Field(ge=0, lt=2**53)]
Port = Annotated[int, Field(ge=0, le=65535)]
# Seconds whose nanoseconds fit 63 bits: until the year 2262.
Epoch = Annotated[float, Field(ge=0, lt=9.2e9)]


class _Model(BaseModel):
    # A manifest may say more than Sojourn reads; no number of it is infinite.
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class _Queue(_Model):
    discipline: str
    size_bdp: float | None = None
    size_bytes: Count | None = None
    size_packets: Count | None = None
    aqm_parameters: dict[str, Any] | None = None


class _Instant(_Model):
    epoch_s: Epoch


class _Window(_Model):
    start_epoch_s: Epoch
    end_epoch_s: Epoch


class _Flow(_Model):
    role: Literal["app", "tcp", "tcp_control"]
    proto: Literal["tcp", "udp"]
    src: str
    sport: Port
    dst: str
    dport: Port
    cc: str | None = None
    app: str | None = None
    ssrc: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    rtp_payload_type: Annotated[int, Field(ge=0, lt=128)] | None = None
    #: Whether the flow is RTP; where it is not said, a flow with an SSRC or a payload type is.
    rtp: bool | None = None
    planned_start_s: float | None = None


class _Clock(_Model):
    mono_to_realtime_offset_ns: int = Field(ge=-(2**62), le=2**62)


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Part(_Model):
    name: str = Field(pattern=r"^[^/\\\x00]+$")
    sha256: Sha256 | None = None


class _File(_Model):
    """A file of the run, or, of a capture, the files that it was written to one after the other."""

    sha256: Sha256 | None = None
    parts: list[_Part | Annotated[str, Field(pattern=r"^[^/\\\x00]+$")]] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _is_known(self) -> _File:
        if (self.sha256 is None) == (self.parts is None):
            raise ValueError("give sha256 of the file, or parts where it is in several files")
        return self


class Manifest(_Model):
    """A manifest as written by the testbed; fields are named there, columns of ``run`` here."""

    run_id: str = Field(min_length=1)
    study: str = Field(min_length=1)
    direction: Literal["downlink", "uplink"] | None = None
    bandwidth_bps: int = Field(gt=0, lt=2**53)
    rtt_ms: float = Field(ge=0)
    queue: _Queue
    cc: str | None = None
    app: str | None = None
    order: Literal["solo", "app_first", "tcp_first"]
    workload: str = "call"
    repetition: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    bandwidth_programme: str | None = None
    session_id: str | None = None
    t0: _Instant | None = None
    window: _Window | None = None
    flows: list[_Flow] = []
    clock: _Clock | None = None
    files: dict[str, _File] = {}
    exclusion_reason: str | None = None


def _ns(seconds: float) -> int:
    # Whole microseconds first: a double holds today's epoch to a quarter of a microsecond, not to a nanosecond.
    return round(seconds * 1_000_000) * 1000


def _load(source: Source) -> dict[str, Any]:
    with open_plain(source) as handle:
        text = handle.read(MAX_BYTES)
    try:
        content = json.loads(text) if text.lstrip().startswith(b"{") else yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError("corrupt_record", f"manifest is not valid JSON or YAML: {one_line(error)}") from error
    if not isinstance(content, dict):
        raise InputError("corrupt_record", "manifest is not a JSON or YAML object")
    return content


@dataclass(frozen=True)
class MeasuredFile:
    """A measurement of a run: the files it is in, and the hashes that the manifest declares of them, if it does."""

    paths: tuple[Path, ...]
    declared: tuple[str | None, ...]
    #: The manifest names the files, with or without their hashes.
    is_listed: bool = True

    def content_hash(self, fingerprint: Callable[[Path], str]) -> str:
        """Return the hash that binds the measurement's facts to the run."""
        return recording_hash(
            [declared or fingerprint(path) for path, declared in zip(self.paths, self.declared, strict=True)]
        )


def load_manifest(source: Source) -> Manifest:
    """Return the manifest that a file holds.

    Raises
    ------
    InputError
        If it is not valid.
    """
    try:
        return Manifest.model_validate(_load(source))
    except ValidationError as error:
        raise InputError("corrupt_record", f"manifest: {one_line(error)}") from error


def rtp_hints(manifest: Manifest) -> tuple[RtpHint, ...]:
    """Return what a manifest says of its UDP flows: which are RTP, and which are not."""
    hints = []
    for flow in manifest.flows:
        known = flow.ssrc is not None or flow.rtp_payload_type is not None
        is_rtp = known if flow.rtp is None else flow.rtp
        if flow.proto == "udp" and (known or flow.rtp is not None):
            ends = (flow.src, flow.sport, flow.dst, flow.dport)
            stream = (flow.ssrc, flow.rtp_payload_type) if is_rtp else (None, None)
            hints.append(RtpHint(*ends, is_rtp, *stream))
    return tuple(hints)


def measured_file(manifest: Manifest, folder: Path, file_name: str) -> MeasuredFile | None:
    """Return where a run's measurement is: as the manifest lists it, else what lies beside it under that name.

    A capture may be in several files: as ``parts``, as rotated names of it in the manifest's list, or as rotated
    files beside a manifest that does not list them.
    """
    declared = manifest.files.get(file_name)
    if declared is not None and declared.parts is not None:
        parts = [_Part(name=part) if isinstance(part, str) else part for part in declared.parts]
        paths = tuple(_beside(folder, part.name) or folder / part.name for part in parts)
        return MeasuredFile(paths, tuple(part.sha256 for part in parts))
    listed = sorted((name for name in manifest.files if _is_rotated(name, file_name)), key=_place)
    if len(listed) > 1 and all(manifest.files[name].sha256 for name in listed):
        paths = tuple(_beside(folder, name) or folder / name for name in listed)
        return MeasuredFile(paths, tuple(manifest.files[name].sha256 for name in listed))
    if declared is not None:
        return MeasuredFile((_beside(folder, file_name) or folder / file_name,), (declared.sha256,))
    rotated = [path for path in folder.iterdir() if _is_rotated(plain_name(path), file_name) and path.is_file()]
    recordings = recordings_among(rotated) if len(rotated) > 1 else []
    if len(recordings) == 1 and len(recordings[0]) == len({plain_name(path) for path in rotated}):
        return MeasuredFile(recordings[0], (None,) * len(recordings[0]), is_listed=False)
    present = _beside(folder, file_name)
    return None if present is None else MeasuredFile((present,), (None,), is_listed=False)


def _is_rotated(name: str, file_name: str) -> bool:
    """Whether a plain name can be that of a file into which ``file_name`` was written."""
    if not file_name.endswith(".pcap"):
        return False
    found = parse(name)
    if found is None:
        return False
    return found.family == ("number", file_name, "") or (
        found.family[0] in ("ring", "time")
        and found.stem == file_name.removesuffix(".pcap")
        and found.family[2] in (".pcap", ".pcapng")
    )


def _place(name: str) -> tuple[int, ...]:
    found = parse(name)
    return () if found is None else found.place


class RunManifest:
    """The description of one run, in the folder that holds the run's files."""

    name = "run_manifest"
    holds_addresses = True
    version = "run-manifest-5"

    def recognises(self, source: Source) -> bool:
        """Return whether the content names the manifest's schema near its start."""
        return source.plain_bytes <= MAX_BYTES and SCHEMA_ENTRY.search(source.head[:4096]) is not None

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run, its flows, and the hashes that bind its files to it."""
        manifest = load_manifest(source)
        reading.records_read = 1
        run_key = {"study_id": manifest.study, "run_id": manifest.run_id}
        yield _batch("run", [run_key | self._run(manifest)])
        if manifest.exclusion_reason:
            yield _batch("run_exclusion", [run_key | {"exclusion_reason": manifest.exclusion_reason}])
        if manifest.flows:
            yield _batch("run_flow", [run_key | row for row in self._flows(manifest, context)])
        measured = self._measurements(manifest, source.path.parent, context)
        if measured:
            yield _batch("run_source", [run_key | row for row in measured])

    @staticmethod
    def bound_to(source: Source, fingerprint: Callable[[Path], str]) -> str:
        """Return a fingerprint of the files beside a manifest that does not list them; empty where it lists them.

        Such files are bound to the run by lying there, so a file that comes or changes makes other facts of the
        same manifest.
        """
        try:
            manifest = load_manifest(source)
            fingerprints = []
            for name in MEASUREMENTS:
                found = measured_file(manifest, source.path.parent, name)
                if found is not None and None in found.declared:
                    fingerprints.append(f"{found.paths[0].name}\0{found.content_hash(fingerprint)}")
        except (InputError, OSError):
            return ""  # reading the manifest, and the file beside it, says what is wrong
        return f"+beside-{hashlib.sha256(chr(0).join(fingerprints).encode()).hexdigest()[:8]}" if fingerprints else ""

    @staticmethod
    def capture_pair(source: Source, fingerprint: Callable[[Path], str]) -> CapturePair | None:
        """Return the captures before and after the bottleneck beside a manifest, if both are there.

        Raises
        ------
        InputError
            If the manifest is not valid, or a capture is not the one that it lists.
        """
        manifest = load_manifest(source)
        found: list[tuple[tuple[Path, ...], str]] = []
        for file_name in ("before.pcap", "after.pcap"):
            measured = measured_file(manifest, source.path.parent, file_name)
            if measured is None or not all(path.is_file() for path in measured.paths):
                return None
            hashes = [fingerprint(path) for path in measured.paths]
            for path, declared, content_hash in zip(measured.paths, measured.declared, hashes, strict=True):
                if declared is not None and declared != content_hash:
                    raise InputError("hash_mismatch", f"{path.name} is not the content that the run's manifest lists")
            found.append((measured.paths, recording_hash(hashes)))
        (before, before_hash), (after, after_hash) = found
        return CapturePair(
            study_id=manifest.study,
            run_id=manifest.run_id,
            before=before,
            after=after,
            rate_bps=manifest.bandwidth_bps,
            before_hash=before_hash,
            after_hash=after_hash,
        )

    @staticmethod
    def _run(manifest: Manifest) -> dict[str, Any]:
        queue = manifest.queue
        return {
            "start_order": manifest.order,
            "workload": manifest.workload,
            "direction": manifest.direction,
            "bandwidth_bps": manifest.bandwidth_bps,
            "rtt_ms": manifest.rtt_ms,
            "aqm": AQM_NAMES.get(queue.discipline, queue.discipline),
            "queue_discipline": queue.discipline,
            "queue_size_bytes": queue.size_bytes,
            "queue_size_packets": queue.size_packets,
            "queue_size_bdp": queue.size_bdp,
            "aqm_parameters": None
            if queue.aqm_parameters is None
            else json.dumps(queue.aqm_parameters, sort_keys=True),
            "congestion_control": manifest.cc,
            "application": manifest.app,
            "repetition": manifest.repetition,
            "bandwidth_programme": manifest.bandwidth_programme,
            "session_id": manifest.session_id,
            "start_ns": None if manifest.t0 is None else _ns(manifest.t0.epoch_s),
            "window_start_ns": None if manifest.window is None else _ns(manifest.window.start_epoch_s),
            "window_end_ns": None if manifest.window is None else _ns(manifest.window.end_epoch_s),
            "monotonic_offset_ns": None if manifest.clock is None else manifest.clock.mono_to_realtime_offset_ns,
        }

    @staticmethod
    def _flows(manifest: Manifest, context: Context) -> list[dict[str, Any]]:
        rows = []
        for number, flow in enumerate(manifest.flows):
            try:
                source_keys, destination_keys = (
                    context.pseudonymiser.keys(flow.src),
                    context.pseudonymiser.keys(flow.dst),
                )
            except ValueError as error:
                raise InputError("corrupt_record", f"manifest: flow {number}: {error}") from error
            rows.append(
                {
                    "flow_number": number,
                    "role": flow.role,
                    "protocol": flow.proto,
                    "source_host_key": source_keys[0],
                    "source_prefix_key": source_keys[1],
                    "source_port": flow.sport,
                    "destination_host_key": destination_keys[0],
                    "destination_prefix_key": destination_keys[1],
                    "destination_port": flow.dport,
                    "congestion_control": flow.cc,
                    "application": flow.app,
                    "ssrc": flow.ssrc,
                    "rtp_payload_type": flow.rtp_payload_type,
                    "planned_start_ms": None if flow.planned_start_s is None else flow.planned_start_s * 1000,
                }
            )
        return rows

    @staticmethod
    def _measurements(manifest: Manifest, folder: Path, context: Context) -> list[dict[str, Any]]:
        rows: dict[str, dict[str, Any]] = {}
        for file_name, measurement in MEASUREMENTS.items():
            if measurement in rows:
                continue
            # What lies beside a manifest that does not list it, under that name, belongs to the run.
            measured = measured_file(manifest, folder, file_name)
            if measured is None:
                continue
            rows[measurement] = {
                "measurement": measurement,
                "file_name": file_name,
                "measurement_hash": measured.content_hash(context.fingerprint),
            }
        return list(rows.values())


def _beside(folder: Path, file_name: str) -> Path | None:
    suffixes = ("", *COMPRESSION_SUFFIXES)
    return next((path for suffix in suffixes if (path := folder / f"{file_name}{suffix}").is_file()), None)


def _batch(name: str, rows: list[dict[str, Any]]) -> tuple[str, pa.RecordBatch]:
    provenance = ("source_hash", "decoder_version")
    schema = pa.schema([column for column in table(name).arrow_schema() if column.name not in provenance])
    return name, pa.RecordBatch.from_pylist(rows, schema=schema)
