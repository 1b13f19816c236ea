"""The options of ``sojourn ingest``, some of which ``sojourn watch`` has too; only what their help needs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from sojourn_ingest.memory import workers_that_fit

DEFAULT_WORKERS: Final = workers_that_fit(os.cpu_count() or 1)

#: As AddressPolicy and ServerNames, whose modules the help does without.
Addresses = Literal["pseudonymise", "keep"]
ServerNames = Literal["registrable", "full", "none"]

SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH…", help="Files, or folders with all their subfolders, local or at s3://, s3a://, gs:// or az://."
    ),
]
AddressesOption = Annotated[
    Addresses,
    typer.Option(
        help="pseudonymise: replace public addresses with keyed hashes before anything is written; keep: write them "
        "as they are."
    ),
]
WorkersOption = Annotated[
    int,
    typer.Option(
        min=1,
        help="Number of files decoded in parallel; each uses one core.",
        show_default="the number of cores, or fewer if memory is limited",
    ),
]
PacketsOption = Annotated[
    bool, typer.Option("--packets", help="Also write the table packet: one row per packet of every capture.")
]
ServerNamesOption = Annotated[
    ServerNames,
    typer.Option(
        help="How much of server names in captures to keep. registrable: the registrable domain (example.com for "
        "www.example.com); full: the full name; none: no name."
    ),
]
PrefixTableOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="CSV (prefix, asn, country) or MMDB file with the AS and country of clients. May be repeated; "
        "the first file that contains an address is used."
    ),
]
AccessRulesOption = Annotated[
    Path | None,
    typer.Option(help="Rules from reverse-DNS names and AS to access technology, instead of the bundled ones."),
]
LookupsWinOption = Annotated[
    bool,
    typer.Option("--lookups-win", help="Prefer looked-up AS, country and access technology to those in the source."),
]
CircuitsOption = Annotated[
    Path | None,
    typer.Option(
        help="LibreQoS' ShapedDevices.csv: circuit, site and plan by the client's subnet. network.json next to it "
        "assigns nodes to sites. Circuit ids, which identify customers, become keyed hashes."
    ),
]
SiteNamesOption = Annotated[
    Literal["keep", "hashed"],
    typer.Option(help="Names of the sites of --circuits. keep: as they are; hashed: as keyed hashes."),
]
RootOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Record paths relative to FOLDER: FOLDER/run/a.pcap as /run/a.pcap, without folder names of this machine.",
    ),
]
CrateOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Read the inputs listed in the RO-Crate of a publication. They are located below PATH by their content, "
        "and recorded with the paths and times in the crate.",
    ),
]
EngineOption = Annotated[
    Literal["threads", "duckdb", "spark"],
    typer.Option(help="threads (or duckdb, as in sojourn build): this machine; spark: tasks here or on a cluster."),
]
MasterOption = Annotated[
    str | None,
    typer.Option(help="Spark's master, such as spark://host:7077. Default: $SOJOURN_SPARK_MASTER or this machine."),
]
SparkConfOption = Annotated[
    list[str] | None, typer.Option(metavar="spark.SETTING=VALUE", help="A Spark setting; may be repeated.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit with status 1 if any file was rejected or is damaged.")
]
