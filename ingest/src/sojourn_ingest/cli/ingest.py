"""``sojourn ingest``: files into the lake.

This module has only what the help needs: what reads files is imported when it is known that there is something to read.
"""

from __future__ import annotations

from pathlib import Path

import typer

from sojourn_ingest.cli.ingest_options import (
    DEFAULT_WORKERS,
    AccessRulesOption,
    AddressesOption,
    CircuitsOption,
    CrateOption,
    EngineOption,
    LookupsWinOption,
    MasterOption,
    PacketsOption,
    PrefixTableOption,
    RootOption,
    ServerNamesOption,
    SiteNamesOption,
    SourcesArgument,
    SparkConfOption,
    StrictOption,
    WorkersOption,
)
from sojourn_ingest.command_line import DryRunOption, IgnoreDiskOption, VarOption, require_spark_for


def register(app: typer.Typer) -> None:
    """Add ``ingest`` and ``secrets`` to the command line."""
    app.command("ingest", short_help="Read files into the lake.")(ingest)
    app.command("secrets", short_help="Create missing keys and passwords, and print where they are.")(secrets)


def secrets(
    var: VarOption = None,
) -> None:
    """Create the missing keys and passwords of this installation, and print the file that has them.

    For example:

      sojourn secrets --var ~/sojourn
    """
    from sojourn_ingest.paths import Paths
    from sojourn_ingest.secrets_file import ensure_secrets

    paths = Paths.from_environment(var)
    ensure_secrets(paths.secrets)
    typer.echo(f"{paths.secrets}")


def ingest(
    sources: SourcesArgument,
    var: VarOption = None,
    addresses: AddressesOption = "pseudonymise",
    workers: WorkersOption = DEFAULT_WORKERS,
    packets: PacketsOption = False,
    server_names: ServerNamesOption = "registrable",
    prefix_table: PrefixTableOption = None,
    access_rules: AccessRulesOption = None,
    lookups_win: LookupsWinOption = False,
    circuits: CircuitsOption = None,
    site_names: SiteNamesOption = "keep",
    dry_run: DryRunOption = False,
    root: RootOption = None,
    crate: CrateOption = None,
    engine: EngineOption = "threads",
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
    strict: StrictOption = False,
    ignore_disk: IgnoreDiskOption = False,
) -> None:
    """Read captures, queue logs, connections, run manifests and study tables into the lake.

    Files are recognised by content, not by name. The table ingest_outcome has every attempt, with the reason if
    something could not be read. Everything before the damage in a file is kept. The same content is stored once, so
    repeating a command adds nothing.

    Consecutive captures are read as one: rotated files of tcpdump (-C, -G, -W), ring buffers of dumpcap, and parts
    listed in a run manifest. --dry-run shows which files are combined.

    For example:

      sojourn ingest ingest/sample

      sojourn ingest --dry-run ~/captures/2026-11

      sojourn ingest run.pcap.gz queue_bpftrace.txt manifest.json

      sojourn ingest --root ~/study ~/study/runs

      sojourn ingest --crate site/ro-crate-metadata.json ~/captures

    Queue logs: text of the bpftrace probe or of perf script, the binary stream of the BCC queue monitor, polls of
    tc -s -j qdisc, and JSON Lines or CSV with a description next to them; see docs/how-to/record-a-queue.md.

    Results of tools: flent, iperf3, iperf 2, irtt, crusader, ping, fping, qlog, ePPing and pping, networkQuality and
    other speed tests, and the log of an adaptive streaming player; see docs/inputs.md.

      sojourn ingest --engine spark --master spark://cluster:7077 /mnt/captures

    Objects in a store are read like files. Configure access with the store's environment variables, such as
    AWS_ENDPOINT_URL and AWS_ACCESS_KEY_ID. Each object is copied to $TMPDIR while it is read; with --engine spark, on
    the worker.
    """
    require_spark_for(master, spark_conf, engine)
    from sojourn_ingest.remote.path import as_path

    paths = [as_path(source) for source in sources]
    _refuse_contradictions(paths, root, crate, engine)
    from sojourn_ingest.cli.ingesting import IngestOptions, run_ingest

    options = IngestOptions(
        sources=paths,
        var=var,
        addresses=addresses,
        workers=workers,
        packets=packets,
        server_names=server_names,
        prefix_tables=tuple(prefix_table or ()),
        access_rules=access_rules,
        lookups_win=lookups_win,
        circuits=circuits,
        keep_site_names=site_names == "keep",
        dry_run=dry_run,
        root=root,
        crate=crate,
        engine=engine,
        master=master,
        spark_conf=tuple(spark_conf or ()),
        strict=strict,
        ignore_disk=ignore_disk,
    )
    run_ingest(options)


def _refuse_contradictions(paths: list[Path], root: Path | None, crate: Path | None, engine: str) -> None:
    from sojourn_ingest.remote.path import is_remote

    missing = next((path for path in paths if not is_remote(path) and not path.exists()), None)
    if missing is not None:
        raise typer.BadParameter(f"{missing}: no such file or folder", param_hint="PATH")
    if root is not None and not root.is_dir():
        raise typer.BadParameter(f"{root}: no such folder", param_hint="--root")
    if crate is not None and not crate.is_file():
        raise typer.BadParameter(f"{crate}: no such file", param_hint="--crate")
    hint = "--root or --crate"
    if root is not None and crate is not None:
        raise typer.BadParameter("the crate sets the recorded paths; use only one of the two", param_hint=hint)
    if any(map(is_remote, paths)) and (root is not None or crate is not None):
        raise typer.BadParameter("needs local files, not URIs", param_hint=hint)
    if engine == "spark" and (root is not None or crate is not None):
        raise typer.BadParameter("cannot be used with --engine spark", param_hint=hint)
