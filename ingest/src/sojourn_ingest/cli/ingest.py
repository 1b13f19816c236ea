"""``sojourn ingest``: files into the lake.

This module has only what the help needs: what reads files is imported when it is known that there is something to read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from sojourn_ingest.command_line import DryRunOption, VarOption
from sojourn_ingest.disk_space import IGNORE_OPTION, IGNORE_VARIABLE
from sojourn_ingest.memory import workers_that_fit

#: As AddressPolicy and ServerNames, whose modules the help does without.
Addresses = Literal["pseudonymise", "keep"]
ServerNames = Literal["registrable", "full", "none"]


def register(app: typer.Typer) -> None:
    """Add ``ingest`` and ``secrets`` to the command line."""
    app.command("ingest", short_help="Read files into the lake.")(ingest)
    app.command("secrets", short_help="Make missing keys and passwords, and say where they are.")(secrets)


def secrets(
    var: VarOption = None,
) -> None:
    """Make the keys and passwords of this installation, where they are missing, and say where they are.

    For example:

      sojourn secrets --var ~/sojourn
    """
    from sojourn_ingest.paths import Paths
    from sojourn_ingest.secrets_file import ensure_secrets

    paths = Paths.from_environment(var)
    ensure_secrets(paths.secrets)
    typer.echo(f"{paths.secrets}")


def ingest(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…",
            help="Files, or folders that are read to the bottom, here or at s3://, s3a://, gs:// or az://.",
        ),
    ],
    var: VarOption = None,
    addresses: Annotated[
        Addresses,
        typer.Option(
            help="pseudonymise: public addresses become keyed hashes before anything is written; "
            "keep: they are written as they are."
        ),
    ] = "pseudonymise",
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="Files decoded at a time; each uses one core.",
            show_default="the number of cores, or fewer if the memory is short",
        ),
    ] = workers_that_fit(os.cpu_count() or 1),
    packets: Annotated[
        bool, typer.Option("--packets", help="Write the table packet too: one row per packet of every capture.")
    ] = False,
    server_names: Annotated[
        ServerNames,
        typer.Option(
            help="Of the servers in captures, registrable: the registered domain is kept (example.com of "
            "www.example.com); full: the whole name; none: no name."
        ),
    ] = "registrable",
    prefix_table: Annotated[
        list[Path] | None,
        typer.Option(
            help="CSV (prefix, asn, country) or MMDB file that gives a client's AS and country; may be given again, "
            "the first that knows an address decides."
        ),
    ] = None,
    access_rules: Annotated[
        Path | None,
        typer.Option(help="Rules from reverse-DNS names and AS to access technology, instead of the bundled ones."),
    ] = None,
    lookups_win: Annotated[
        bool, typer.Option("--lookups-win", help="Looked-up AS, country and access win over those a source gives.")
    ] = False,
    circuits: Annotated[
        Path | None,
        typer.Option(
            help="ShapedDevices.csv of LibreQoS: circuit, site and plan of a client's subnet; network.json beside it "
            "says to which site a node belongs. Circuits, which are customers, become keyed hashes."
        ),
    ] = None,
    site_names: Annotated[
        Literal["keep", "hashed"],
        typer.Option(help="Of the sites of --circuits, keep: the name as it is; hashed: a keyed hash."),
    ] = "keep",
    dry_run: DryRunOption = False,
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Record paths as they are below FOLDER: FOLDER/run/a.pcap as /run/a.pcap, so that they name no folder "
            "of this machine.",
        ),
    ] = None,
    crate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read the inputs that the RO-Crate of a publication lists, found by their content below PATH, and "
            "record them as they are recorded there.",
        ),
    ] = None,
    engine: Annotated[
        Literal["threads", "duckdb", "spark"],
        typer.Option(help="threads, or duckdb as of sojourn build: this machine; spark: tasks here, or of a cluster."),
    ] = "threads",
    master: Annotated[
        str | None,
        typer.Option(help="Spark's master, such as spark://host:7077. Default: $SOJOURN_SPARK_MASTER or this machine."),
    ] = None,
    spark_conf: Annotated[
        list[str] | None,
        typer.Option(metavar="spark.SETTING=VALUE", help="A setting of Spark; may be given several times."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with status 1 when any file was rejected or is damaged.")
    ] = False,
    ignore_disk: Annotated[
        bool,
        typer.Option(
            IGNORE_OPTION,
            envvar=IGNORE_VARIABLE,
            help="Begin although the estimate of what will be written does not fit on the disk.",
        ),
    ] = False,
) -> None:
    """Read captures, queue logs, connections, run manifests and study tables into the lake.

    The format of a file is found from its content, not its name. Every attempt is recorded in the table
    ingest_outcome, with the reason where something could not be read; a damaged file gives what came before
    the damage. The same content is kept once, so repeating a command adds nothing.

    Captures that continue one another are read as one: rotated files of tcpdump (-C, -G, -W), ring buffers of
    dumpcap, and what a run's manifest lists as parts. --dry-run shows what belongs together.

    For example:

      sojourn ingest ingest/sample

      sojourn ingest --dry-run ~/captures/2026-11

      sojourn ingest run.pcap.gz queue_bpftrace.txt manifest.json

      sojourn ingest --root ~/study ~/study/runs

      sojourn ingest --crate site/ro-crate-metadata.json ~/captures

    Queue logs: text of the bpftrace probe or of perf script, the binary stream of the BCC queue monitor, polls of
    tc -s -j qdisc, and JSON Lines or CSV with a description beside them; docs/how-to/record-a-queue.md has the table.

    Results of tools: flent, iperf3, iperf 2, irtt, crusader, ping, fping, qlog, ePPing and pping, networkQuality and
    other speed tests, and the log of a player of adaptive streaming; docs/inputs.md has the table.

      sojourn ingest --engine spark --master spark://cluster:7077 /mnt/captures s3a://bucket/captures

    Objects of a store are read as files are; its environment variables, such as AWS_ENDPOINT_URL and AWS_ACCESS_KEY_ID,
    lead there. An object is copied into $TMPDIR while it is read, with --engine spark on the worker.
    """
    from sojourn_ingest.remote.path import as_path, is_remote

    given = [as_path(source) for source in sources]
    missing = next((path for path in given if not is_remote(path) and not path.exists()), None)
    if missing is not None:
        raise typer.BadParameter(f"{missing}: no such file or folder", param_hint="PATH")
    if root is not None and not root.is_dir():
        raise typer.BadParameter(f"{root}: no such folder", param_hint="--root")
    if crate is not None and not crate.is_file():
        raise typer.BadParameter(f"{crate}: no such file", param_hint="--crate")
    if root is not None and crate is not None:
        raise typer.BadParameter("the crate says what is recorded; give one of the two", param_hint="--root or --crate")
    if any(map(is_remote, given)) and (root is not None or crate is not None):
        raise typer.BadParameter("goes with files of this machine, not with URIs", param_hint="--root or --crate")
    if engine == "spark" and (root is not None or crate is not None):
        raise typer.BadParameter(
            "does not go with --engine spark, whose tasks record paths as they are", param_hint="--root or --crate"
        )
    from sojourn_ingest.cli.ingesting import IngestOptions, run_ingest

    run_ingest(
        IngestOptions(
            sources=given,
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
    )
