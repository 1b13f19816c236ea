"""Which files of a run's folder measure what, and where those files are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sojourn_ingest.formats.capture.rotation import COMPRESSION_SUFFIXES, parse, plain_name, recordings_among
from sojourn_ingest.formats.interface import recording_hash
from sojourn_ingest.formats.queue.queue_log import QUEUE_LOG_FORMS
from sojourn_ingest.formats.run.manifest import Manifest, Part

CAPTURE_BEFORE = "before.pcap"
CAPTURE_AFTER = "after.pcap"
#: Names of the captures of a run, which may be in several files each.
CAPTURES = (CAPTURE_BEFORE, CAPTURE_AFTER)

#: What a file of a run's folder measures, by its name without a compression suffix. Of several files with one
#: measurement the first counts. This is the one list: `run_source`, manifests and ingest plans follow from it.
MEASUREMENTS: dict[str, str] = {
    CAPTURE_BEFORE: "capture_before",
    CAPTURE_AFTER: "capture_after",
    **{form.run_file: "queue_log" for form in QUEUE_LOG_FORMS},
    "queue.jsonl": "queue_log_decoded",
    "qdisc_stats.jsonl": "queue_counters",
    "ss_raw.jsonl": "tcp_polls",
    "iperf3.json": "iperf3",
    "iperf3_server.json": "iperf3_server",
    "iperf2.csv": "iperf2",
    "irtt.json": "irtt",
    "ping.txt": "ping",
    "fping.txt": "fping",
    "result.flent": "flent",
    "client.qlog": "qlog_client",
    "client.sqlog": "qlog_client",
    "server.qlog": "qlog_server",
    "server.sqlog": "qlog_server",
    "result.crr": "crusader",
    "network_quality.json": "network_quality",
    "speed_test.json": "speed_test",
    "vmaf.json": "frame_vmaf",
    "vmaf.xml": "frame_vmaf",
    "vmaf.csv": "frame_vmaf",
    "ssim.log": "frame_ssim",
    "psnr.log": "frame_psnr",
    "page_loads.har": "page_loads",
    "page_loads.jsonl": "page_loads",
    "page_loads.txt": "page_loads",
    "page_loads.log": "page_loads",
    "lighthouse.json": "page_loads",
    "rtcstats.jsonl": "call_statistics",
    "get_stats.jsonl": "call_statistics",
    "webrtc_internals.json": "call_statistics",
    "about_webrtc.json": "call_statistics",
    "rtcstats_dump.txt": "call_statistics",
    "rtcstats_dump": "call_statistics",
    "streaming.jsonl": "streaming",
}

#: Tools that put a time or a title into the name of their result, by the name that it may be given: it is the run's if
#: it is the only one beside the manifest.
SUFFIXES_OF_TOOLS = {"result.flent": ".flent", "result.crr": ".crr"}


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


def measured_file(manifest: Manifest, folder: Path, file_name: str) -> MeasuredFile | None:
    """Return where a run's measurement is: as the manifest lists it, else the file of that name next to it.

    A capture may be in several files: as ``parts``, as rotated names of it in the manifest's list, or as rotated
    files beside a manifest that does not list them.
    """
    declared = manifest.files.get(file_name)
    if declared is not None and declared.parts is not None:
        parts = [Part(name=part) if isinstance(part, str) else part for part in declared.parts]
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
    present = _beside(folder, file_name) or _only_one_named(folder, file_name)
    return None if present is None else MeasuredFile((present,), (None,), is_listed=False)


def _is_rotated(name: str, file_name: str) -> bool:
    """Whether a plain name can be that of a file into which ``file_name`` was written."""
    if not file_name.endswith(".pcap"):
        return False
    parsed = parse(name)
    if parsed is None:
        return False
    return parsed.family == ("number", file_name, "") or (
        parsed.family[0] in ("ring", "time")
        and parsed.stem == file_name.removesuffix(".pcap")
        and parsed.family[2] in (".pcap", ".pcapng")
    )


def _place(name: str) -> tuple[int, ...]:
    parsed = parse(name)
    return () if parsed is None else parsed.place


def _only_one_named(folder: Path, file_name: str) -> Path | None:
    """Return the one file whose name ends like a result that its tool names itself; None if there are several."""
    suffix = SUFFIXES_OF_TOOLS.get(file_name)
    if suffix is None:
        return None
    files = [path for path in folder.iterdir() if plain_name(path).endswith(suffix) and path.is_file()]
    return files[0] if len(files) == 1 else None


def _beside(folder: Path, file_name: str) -> Path | None:
    suffixes = ("", *COMPRESSION_SUFFIXES)
    return next((path for suffix in suffixes if (path := folder / f"{file_name}{suffix}").is_file()), None)
