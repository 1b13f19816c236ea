"""Run manifests (JSON or YAML, schema testbed-manifest/1): the tables of a run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.capture.capture import Capture
from sojourn_ingest.formats.capture.capture_pair import CapturePair
from sojourn_ingest.formats.capture.rotation import plain_name
from sojourn_ingest.formats.interface import (
    Context,
    DeclaredFiles,
    DescribingFormat,
    Facts,
    Fingerprint,
    InputError,
    Pair,
    Reading,
    Source,
    recording_hash,
)
from sojourn_ingest.formats.run.manifest import (
    MAX_BYTES,
    SCHEMA,
    SCHEMA_ENTRY,
    VERSION,
    Manifest,
    flow_hints,
    load_manifest,
)
from sojourn_ingest.formats.run.measurements import CAPTURES, MEASUREMENTS, SUFFIXES_OF_TOOLS, measured_file
from sojourn_ingest.schema import table

SUFFIXES = (".json", ".yaml", ".yml")

#: Columns of a run that a manifest has under the same name.
_SAME = tuple(column.name for column in table("run").columns if column.name in Manifest.model_fields)

AQM_NAMES = {"bfifo": "tail-drop", "pfifo": "tail-drop", "pfifo_fast": "tail-drop"}


def _ns(seconds: float) -> int:
    # Whole microseconds first: a double holds today's epoch to a quarter of a microsecond, not to a nanosecond.
    return round(seconds * 1_000_000) * 1000


class RunManifest(DescribingFormat):
    """The description of one run, in the folder that holds the run's files."""

    name = "run_manifest"
    holds_addresses = True
    gives_runs = True
    pair_format = CapturePair
    version = VERSION

    def recognises(self, source: Source) -> bool:
        """Return whether the content names the manifest's schema near its start."""
        if source.plain_bytes > MAX_BYTES:
            return False
        return SCHEMA_ENTRY.search(source.head[:4096]) is not None or source.object.get("schema") == SCHEMA

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run, its block, flows, rival, links and phases, and the hashes that bind its files to it."""
        manifest = load_manifest(source)
        reading.records_read = 1
        run_key = {"study_id": manifest.study, "run_id": manifest.run_id}
        yield _batch("run", [run_key | self._run(manifest)])
        if manifest.exclusion_reason:
            yield _batch("run_exclusion", [run_key | {"exclusion_reason": manifest.exclusion_reason}])
        if manifest.block is not None:
            yield _batch("run_block", [run_key | {"block": str(manifest.block)}])
        shaper = manifest.queue.shaper
        if shaper is not None:
            row = {"shaper": shaper.kind, "shaper_burst_bytes": shaper.burst_bytes}
            yield _batch("run_shaper", [run_key | row])
        if manifest.flows:
            yield _batch("run_flow", [run_key | row for row in self._flows(manifest, context)])
        if manifest.rival is not None:
            yield _batch("run_rival", [run_key | {"rival_application": manifest.rival}])
        links = self._links(manifest)
        if links:
            yield _batch("run_link", [run_key | row for row in links])
        if manifest.phases:
            yield _batch("run_phase", [run_key | row for row in self._phases(manifest)])
        measured = self._measurements(manifest, source.path.parent, context)
        if measured:
            yield _batch("run_source", [run_key | row for row in measured])

    def bound_to(self, source: Source, fingerprint: Fingerprint) -> str:
        """Return a fingerprint of the files beside a manifest that does not list them; empty if it lists them.

        Such files are bound to the run by lying there, so a file that comes or changes makes other facts of the
        same manifest.
        """
        try:
            manifest = load_manifest(source)
            fingerprints = []
            for name in MEASUREMENTS:
                measured = measured_file(manifest, source.path.parent, name)
                if measured is not None and None in measured.declared:
                    fingerprints.append(f"{measured.paths[0].name}\0{measured.content_hash(fingerprint)}")
        except (InputError, OSError):
            return ""  # reading the manifest, and the file beside it, says what is wrong
        return f"+beside-{hashlib.sha256(chr(0).join(fingerprints).encode()).hexdigest()[:8]}" if fingerprints else ""

    def may_be_called(self, name: str) -> bool:
        """Return whether a name ends as those of JSON and YAML do."""
        return name.endswith(SUFFIXES)

    def declared_files(self, source: Source) -> list[DeclaredFiles]:
        """Return the captures next to a manifest, and what it declares about the flows in them."""
        try:
            manifest = load_manifest(source)
            measured = [measured_file(manifest, source.path.parent, name) for name in CAPTURES]
        except (InputError, OSError):
            return []
        hints = flow_hints(manifest)
        return [
            DeclaredFiles(capture.paths, Capture.name, capture.is_listed, hints)
            for capture in measured
            if capture is not None
        ]

    def pair_path(self, source: Source) -> Path | None:
        """Return the name in outcomes of the pair of captures that a manifest declares, if it declares both."""
        try:
            manifest = load_manifest(source)
            before, after = (measured_file(manifest, source.path.parent, name) for name in CAPTURES)
        except (InputError, OSError):
            return None
        return None if before is None or after is None else CapturePair.path_of(before.paths, after.paths)

    def pair(self, source: Source, fingerprint: Fingerprint) -> Pair | None:
        """Return the captures before and after the bottleneck beside a manifest, if both are there.

        Raises
        ------
        InputError
            If the manifest is not valid, or a capture is not the one that it lists.
        """
        manifest = load_manifest(source)
        captures: list[tuple[tuple[Path, ...], str]] = []
        for file_name in CAPTURES:
            measured = measured_file(manifest, source.path.parent, file_name)
            if measured is None or not all(path.is_file() for path in measured.paths):
                return None
            hashes = [fingerprint(path) for path in measured.paths]
            for path, declared, content_hash in zip(measured.paths, measured.declared, hashes, strict=True):
                if declared is not None and declared != content_hash:
                    message = (
                        f"{path.name} does not have the hash in the run's manifest; copy it again, or correct the hash"
                    )
                    raise InputError("hash_mismatch", message)
            captures.append((measured.paths, recording_hash(hashes)))
        if manifest.bandwidth_bps is None:
            raise InputError(
                "rate_changes",
                "the run's rate changes, but the delay between two captures needs a fixed rate; give bandwidth_bps",
            )
        (before, before_hash), (after, after_hash) = captures
        return CapturePair(
            study_id=manifest.study,
            run_id=manifest.run_id,
            before=before,
            after=after,
            rate_bps=manifest.bandwidth_bps,
            burst_bytes=manifest.burst_bytes,
            before_hash=before_hash,
            after_hash=after_hash,
        )

    @staticmethod
    def _run(manifest: Manifest) -> dict[str, Any]:
        queue = manifest.queue
        return {name: getattr(manifest, name) for name in _SAME} | {
            "start_order": manifest.order,
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
            "queue_scheme": queue.scheme,
            "bottleneck_interface": queue.interface,
            "bottleneck_handle": queue.handle,
            "start_ns": None if manifest.t0 is None else _ns(manifest.t0.epoch_s),
            "window_start_ns": None if manifest.window is None else _ns(manifest.window.start_epoch_s),
            "window_end_ns": None if manifest.window is None else _ns(manifest.window.end_epoch_s),
            "monotonic_offset_ns": None if manifest.clock is None else manifest.clock.mono_to_realtime_offset_ns,
        }

    @staticmethod
    def _flows(manifest: Manifest, context: Context) -> list[dict[str, Any]]:
        def keys(number: int, address: object) -> tuple[str | None, str | None]:
            try:
                return (None, None) if address is None else context.pseudonymiser.keys(str(address))
            except ValueError as error:
                raise InputError("corrupt_record", f"manifest: flow {number}: {error}") from error

        rows = []
        for number, flow in enumerate(manifest.flows):
            source_keys, destination_keys = keys(number, flow.src), keys(number, flow.dst)
            host_key, _ = keys(number, None if flow.host is None else flow.host.network_address)
            first_port, last_port = flow.ports or (None, None)
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
                    "rule_host_key": host_key,
                    "rule_host_bits": None if flow.host is None else flow.host.prefixlen,
                    "rule_first_port": first_port,
                    "rule_last_port": last_port,
                    "rule_server_names": None if flow.server_name is None else " ".join(flow.server_name),
                    "rule_more_than_bytes": flow.more_than_bytes,
                    "rule_is_first": None if flow.is_tuple else flow.first,
                    "congestion_control": flow.cc,
                    "application": flow.app,
                    "ssrc": flow.ssrc,
                    "rtp_payload_type": flow.rtp_payload_type,
                    "planned_start_ms": None if flow.planned_start_s is None else flow.planned_start_s * 1000,
                }
            )
        return rows

    @staticmethod
    def _links(manifest: Manifest) -> list[dict[str, Any]]:
        if manifest.links is None:
            return []
        rows = []
        for direction in ("downlink", "uplink"):
            link = getattr(manifest.links, direction)
            if link is None:
                continue
            queue = link.queue
            rows.append(
                {
                    "direction": direction,
                    "bandwidth_bps": link.bandwidth_bps,
                    "delay_ms": link.delay_ms,
                    "aqm": None if queue is None else AQM_NAMES.get(queue.discipline, queue.discipline),
                    "queue_discipline": None if queue is None else queue.discipline,
                    "queue_size_bytes": None if queue is None else queue.size_bytes,
                    "queue_size_packets": None if queue is None else queue.size_packets,
                    "queue_size_bdp": None if queue is None else queue.size_bdp,
                    "queue_scheme": None if queue is None else queue.scheme,
                    "queue_interface": None if queue is None else queue.interface,
                    "queue_handle": None if queue is None else queue.handle,
                }
            )
        return rows

    @staticmethod
    def _phases(manifest: Manifest) -> list[dict[str, Any]]:
        return [
            {"phase": phase.phase, "start_ms": phase.start_s * 1000, "end_ms": phase.end_s * 1000}
            for phase in manifest.phases
        ]

    @staticmethod
    def _measurements(manifest: Manifest, folder: Path, context: Context) -> list[dict[str, Any]]:
        rows: dict[str, dict[str, Any]] = {}
        for file_name, measurement in MEASUREMENTS.items():
            if measurement in rows:
                continue
            # A file of that name next to a manifest that does not list it belongs to the run.
            measured = measured_file(manifest, folder, file_name)
            if measured is None:
                continue
            rows[measurement] = {
                "measurement": measurement,
                "file_name": plain_name(measured.paths[0]) if file_name in SUFFIXES_OF_TOOLS else file_name,
                "measurement_hash": measured.content_hash(context.fingerprint),
            }
        return list(rows.values())


def _batch(name: str, rows: list[dict[str, Any]]) -> tuple[str, pa.RecordBatch]:
    provenance = ("source_hash", "decoder_version")
    schema = pa.schema([column for column in table(name).arrow_schema() if column.name not in provenance])
    return name, pa.RecordBatch.from_pylist(rows, schema=schema)
