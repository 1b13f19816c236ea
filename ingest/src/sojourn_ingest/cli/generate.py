"""``sojourn generate``: synthetic measurements whose true distribution is known."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn_process.printable import counted, printable

if TYPE_CHECKING:
    from sojourn_ingest.synthetic.connection_files import GeneratedFile

#: Ten times the hosts of IMC'14, sojourn_ingest.synthetic.connection_world.HOSTS_PUBLISHED.
MOST_ROWS = 810_000_000


def register(app: typer.Typer) -> None:
    """Add ``generate`` to the command line."""
    group = typer.Typer(no_args_is_help=True, help="Generate synthetic measurements with known truth.")

    @group.callback()
    def generate_options() -> None:
        """Generate synthetic measurements with known truth."""

    group.command("connections", short_help="Generate connections with known RTT.")(connections)
    group.command("flent", short_help="Generate flent results for two queues.")(flent)
    group.command("passive-rtt", short_help="Generate a day of ePPing output with a known worst site.")(passive_rtt)
    app.add_typer(group, name="generate")


def connections(
    out: Annotated[
        Path,
        typer.Option(help="Folder to write to, one Parquet file per day. The true distribution is written next to it."),
    ],
    rows: Annotated[int, typer.Option(min=1, max=MOST_ROWS, help="Number of connections.")] = 1_000_000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Random seed; each seed gives a different synthetic data set.")
    ] = 1,
    days: Annotated[
        int, typer.Option(min=1, max=3660, help="Number of days over which the connections are spread.")
    ] = 28,
    workers: Annotated[
        int, typer.Option(min=1, help="Number of days written in parallel; each uses one core.")
    ] = os.cpu_count() or 1,
) -> None:
    """Generate connections with smoothed RTT, calibrated to the shares that IMC'14 published.

    Every row, and everything served from it, is labelled synthetic. The same rows, seed and days give the same bytes.
    Ingest the folder with `sojourn ingest`. OUT.truth.json contains the true shares, quantiles and shares of hosts of
    the data set, computed, not sampled.

    For example:

      sojourn generate connections --rows 1000000 --seed 7 --out synthetic

      sojourn ingest synthetic && sojourn build
    """
    if rows < days:
        raise typer.BadParameter(
            f"{counted(rows, 'connection')} cannot be spread over {counted(days, 'day')}", param_hint="--days"
        )
    from sojourn_ingest.synthetic.connection_files import dataset_of, truth_path, write_world
    from sojourn_ingest.synthetic.connection_world import ConnectionWorld

    world = ConnectionWorld(rows, seed)
    clock = time.perf_counter()
    done = 0

    def tell(file: GeneratedFile) -> None:
        nonlocal done
        done += file.rows
        typer.echo(f"{printable(file.path.name)}: {counted(file.rows, 'connection')}, {done:,} of {rows:,}", err=True)

    write_world(world, days, out.resolve(), workers, tell)
    seconds = time.perf_counter() - clock
    typer.echo(
        f"{counted(rows, 'synthetic connection')} of {dataset_of(world)} in {printable(out)}, "
        f"{rows / seconds:,.0f} per second; "
        f"their true distribution is in {printable(truth_path(out.resolve()))}"
    )


def flent(
    out: Annotated[Path, typer.Option(help="Folder to write to; one flent file per run.")],
) -> None:
    """Generate flent results for two queues, six repetitions each, in which FQ-CoDel waits 95 ms less than pfifo.

    They are the input of the flent tutorial. Flent has no flag for synthetic data, so the note in each file states it.

    For example:

      sojourn generate flent --out results

      sojourn ingest results && sojourn build
    """
    from sojourn_ingest.synthetic.flent_files import LOADED_MS, write_flent_files

    written = write_flent_files(out)
    typer.echo(
        f"{counted(len(written), 'file')} of {' and '.join(LOADED_MS)} in {printable(out)}, generated, not measured"
    )


#: 10.0.0.0/8 in networks of four addresses.
MOST_CIRCUITS = 4_000_000


def passive_rtt(
    out: Annotated[
        Path,
        typer.Option(help="Folder to write to: pping/ with a file per hour, the lookups next to it, and truth.json."),
    ],
    samples: Annotated[int, typer.Option(min=1, max=10**10, help="Number of RTT samples.")] = 200_000,
    circuits: Annotated[
        int, typer.Option(min=100, max=MOST_CIRCUITS, help="Number of circuits in the access network.")
    ] = 400,
    sites: Annotated[int, typer.Option(min=5, max=1000, help="Number of sites to which the circuits connect.")] = 12,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Random seed; each seed gives a different network.")
    ] = 1,
) -> None:
    """Generate one day of passive RTT of an access network, as ePPing's JSON, with LibreQoS' list of circuits.

    One site is planted as the worst in the evening, and three small ones as decoys. Every event is labelled synthetic.
    The same options give the same bytes.

    For example:

      sojourn generate passive-rtt --out isp

      sojourn ingest isp/pping --circuits isp/ShapedDevices.csv

      sojourn build
    """
    from sojourn_ingest.synthetic.access_network import AccessNetwork, write_access_network

    network = AccessNetwork(samples, circuits, sites, seed)

    def tell(path: Path, count: int) -> None:
        typer.echo(f"{printable(path.name)}: {counted(count, 'sample')}", err=True)

    write_access_network(network, out, tell)
    typer.echo(
        f"{counted(samples, 'synthetic RTT sample')} of {counted(circuits, 'circuit')} at {sites} sites "
        f"in {printable(out)}/pping; "
        f"the planted values are in {printable(out)}/truth.json"
    )
