"""A forgotten host is gone from every table and every byte, and does not come back."""

import json
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap
from connection_tables import host_lines, host_start_ns, write_hosts
from typer.testing import CliRunner

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli import application
from sojourn_ingest.cli import forgetting as forget_command
from sojourn_ingest.cli.forgetting import host_keys_of
from sojourn_ingest.command_line import NoLakeError
from sojourn_ingest.forgotten import ForgottenHosts, ForgottenListError, add_to_list, pending_in
from sojourn_ingest.lake import DataFile, Forgetting, Lake, LakeDamagedError, find, forget
from sojourn_ingest.lake.pack import Pack, Part, SharedFile
from sojourn_ingest.lake.purge import host_key_columns
from sojourn_ingest.lake.storage import kept_of
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_ingest.secrets_file import SecretsError, address_key, ensure_secrets
from sojourn_ingest.session import IngestSession, files_below

HOST, OTHER = "8.8.8.8", "9.9.9.9"
KEY = b"key"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with a described table and a capture that both hold the host and another one."""
    folder = tmp_path / "data"
    folder.mkdir()
    write_hosts(folder, HOST, OTHER, HOST, "customer 7")
    frames = [udp_frame(b"x" * 20, (source, 1000)) for source in (HOST, OTHER, HOST, OTHER)]
    write_pcap(folder / "c.pcap", frames, gap_ns=150_000_000)
    return folder


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the keys of :func:`ingest`."""
    monkeypatch.setenv("SOJOURN_ADDRESS_KEY", KEY.decode())
    monkeypatch.setenv("SOJOURN_FORGET_KEY", "forget")


def ingest(lake: Lake, data: Path, forgotten: ForgottenHosts | None = None, key: bytes = KEY) -> None:
    pseudonymiser = Pseudonymiser(key, forgotten=forgotten or ForgottenHosts(b"forget"))
    with lake.writing():
        IngestSession(lake, pseudonymiser).run(files_below([data]), lambda _: None)


def rows(lake: Lake, table: str) -> list[dict[str, object]]:
    hidden = lake.hidden(table)
    kept = []
    for name in lake.objects(table):
        gone = {part.content_hash for part in hidden.get(name, ())}
        content = pq.read_table(lake.storage.local(name)).to_pylist()
        kept += [row for row in content if row.get("source_hash") not in gone]
    return kept


def named_hosts(lake: Lake) -> set[object]:
    return {
        row[name]
        for table in TABLES
        for name in host_key_columns(table)
        for row in (rows(lake, table) or [{name: None}])
    }


def key_of(host: str) -> str:
    return Pseudonymiser(KEY).keys(host)[0]


def forget_host(lake: Lake, host: str = HOST) -> None:
    with lake.writing():
        forget(lake, find(lake, {key_of(host)}))


def test_every_row_of_the_host_goes_and_the_others_stay(tmp_path: Path, data: Path) -> None:
    lake = Lake(tmp_path / "lake")
    ingest(lake, data)
    flows = {row["flow_id"] for row in rows(lake, "flow") if row["initiator_host_key"] == key_of(HOST)}
    before = {table: len(rows(lake, table)) for table in ("connection", "flow", "flow_interval")}
    assert before == {"connection": 4, "flow": 2, "flow_interval": 4}
    fingerprint = lake.fingerprint()
    forgettings = find(lake, {key_of(HOST)})
    assert sum((one.rows for one in forgettings), start=type(forgettings[0].rows)()) == {
        "connection": 2, "flow": 1, "flow_interval": 2,
    }  # fmt: skip
    assert lake.fingerprint() == fingerprint
    forget_host(lake)
    assert key_of(HOST) not in named_hosts(lake)
    assert key_of(OTHER) in named_hosts(lake)
    assert [row["start_ns"] for row in rows(lake, "connection")] == [host_start_ns(2), host_start_ns(4)]
    assert not flows & {row["flow_id"] for row in rows(lake, "flow_interval")}
    assert len(rows(lake, "flow_interval")) == 2
    assert lake.fingerprint() != fingerprint
    outcomes = {
        row["format"]: json.loads(str(row["refused_by_reason"]))
        for path in lake.files("ingest_outcome")
        for row in pq.read_table(path).to_pylist()
    }
    assert outcomes["connection_table:made-up/connections"] == {"forgotten_host": 2}
    assert outcomes["capture"] == {"forgotten_host": 3}
    # A lake that is opened again sees the same, and no file with the host's rows is left.
    assert Lake(tmp_path / "lake").fingerprint() == lake.fingerprint()
    files = {path for table in TABLES for path in (tmp_path / "lake" / "data" / table).glob("*")}
    assert files == {path for table in TABLES for path in lake.files(table)}


def test_a_forgotten_host_does_not_come_back(tmp_path: Path, data: Path) -> None:
    lake = Lake(tmp_path / "lake")
    ingest(lake, data)
    fingerprint = Pseudonymiser(KEY, forgotten=ForgottenHosts(b"forget")).forget_fingerprint(HOST)
    forgotten = ForgottenHosts(b"forget", fingerprints=frozenset({fingerprint}))
    forget_host(lake)
    state = lake.fingerprint()
    ingest(lake, data, forgotten)
    assert lake.fingerprint() == state
    # Neither from a new file, nor under another address key, nor where addresses are kept.
    (data / "t.csv").write_text((data / "t.csv").read_text() + host_lines(5, HOST, f"::ffff:{HOST}", OTHER))
    (data / "c.pcap").write_bytes((data / "c.pcap").read_bytes()[:-62])
    for pseudonymiser in (
        Pseudonymiser(KEY, forgotten=forgotten),
        Pseudonymiser(b"rotated", forgotten=forgotten),
        Pseudonymiser(KEY, "keep", forgotten),
    ):
        with lake.writing():
            attempts = IngestSession(lake, pseudonymiser).run(files_below([data]), lambda _: None)
        refused = {attempt.path.name: attempt.refused for attempt in attempts}
        assert refused == {"c.pcap": 3, "made-up.yaml": 0, "t.csv": 4}
        assert len(rows(lake, "connection")) == 3
        assert len(rows(lake, "flow_interval")) == 1
        assert not named_hosts(lake) & {key_of(HOST), HOST, "forgotten"}


def test_a_host_forgotten_by_its_key_stays_out_under_that_key(tmp_path: Path, data: Path) -> None:
    lake = Lake(tmp_path / "lake")
    ingest(lake, data, ForgottenHosts(b"forget", host_keys=frozenset({key_of(HOST)})))
    assert key_of(HOST) not in named_hosts(lake)
    assert [row["start_ns"] for row in rows(lake, "connection")] == [host_start_ns(2), host_start_ns(4)]
    assert len(rows(lake, "flow_interval")) == 2


def test_rows_in_a_file_shared_by_many_commits_go(tmp_path: Path, data: Path) -> None:
    """A pack with every file of a table in one: what compaction leaves."""
    (data / "u.csv").write_text("start,host\n" + host_lines(11, HOST, OTHER))
    lake = Lake(tmp_path / "lake")
    ingest(lake, data)
    shared = []
    with lake.writing():
        for table in ("connection", "ingest_outcome"):
            own = [(commit, file) for commit in lake.live() for file in commit.files if file.table == table]
            path = f"data/{table}/put-together.parquet"
            content = pa.concat_tables([pq.read_table(lake.storage.local(file.path)) for _, file in own])
            draft = lake.storage.draft(path)
            pq.write_table(content, draft)
            parts = tuple(Part(f.path, c.source_path, c.content_hash, c.decoder_version) for c, f in own)
            shared.append(SharedFile(DataFile.of(table, path, content.num_rows, kept_of(draft)), parts))
        lake.publish_pack(Pack(tuple(lake.live()), tuple(shared)))
        lake.remove_leftovers()
    others = [row for row in rows(lake, "connection") if row["client_host_key"] != key_of(HOST)]
    assert len(rows(lake, "connection")) == 6
    forget_host(lake)
    lake = Lake(tmp_path / "lake")
    assert sorted(rows(lake, "connection"), key=lambda row: str(row["start_ns"])) == sorted(
        others, key=lambda row: str(row["start_ns"])
    )
    for path in (tmp_path / "lake" / "data" / "connection").iterdir():
        assert key_of(HOST) not in pq.read_table(path).column("client_host_key").to_pylist()
    assert sum(pq.read_table(path).num_rows for path in lake.files("ingest_outcome")) == 4


def test_the_command_shows_first_and_acts_when_told(tmp_path: Path, data: Path) -> None:
    run = CliRunner().invoke
    var = ["--var", str(tmp_path / "var")]
    app = application()
    assert run(app, ["ingest", str(data), *var]).exit_code == 0
    lake = Lake(tmp_path / "var" / "lake")
    state = lake.fingerprint()
    shown = run(app, ["forget", HOST, "--dry-run", *var])
    assert "connection" in shown.stdout
    assert "nothing was changed: --dry-run" in shown.stdout
    unconfirmed = run(app, ["forget", HOST, *var])
    assert unconfirmed.exit_code == 1
    assert "connection" in unconfirmed.stdout
    assert str(unconfirmed.exception).startswith("nothing was changed; give --yes")
    lake.refresh()
    assert lake.fingerprint() == state
    assert not (tmp_path / "var" / "forgotten.jsonl").exists()
    assert run(app, ["forget", "customer 7", "--yes", *var]).exit_code == 0
    gone = run(app, ["forget", HOST, "--yes", *var])
    assert gone.exit_code == 0
    assert "\nrun sojourn build to rebuild " in gone.output
    assert "publications and copies in other folders still contain it" in gone.output
    lake.refresh()
    assert len(rows(lake, "connection")) == 1
    entries = [json.loads(line) for line in (tmp_path / "var" / "forgotten.jsonl").read_text().splitlines()]
    assert [entry["rows"] for entry in entries] == [
        {"connection": 1}, {"flow": 1, "flow_interval": 2, "connection": 2},
    ]  # fmt: skip
    (data / "again.csv").write_text("start,host\n" + host_lines(1, HOST, "customer 7", OTHER))
    assert run(app, ["ingest", str(data), *var]).exit_code == 0
    lake.refresh()
    assert len(rows(lake, "connection")) == 2
    again = run(app, ["forget", HOST, "--dry-run", *var])
    assert again.stdout == "no row in the lake has this address\nnothing was changed: --dry-run\n"
    # The address stands nowhere below var, neither as text nor packed.
    for path in (tmp_path / "var").rglob("*"):
        if path.is_file():
            assert HOST.encode() not in path.read_bytes(), path


def test_a_host_is_kept_out_before_the_first_ingest_and_without_the_lake(tmp_path: Path, data: Path) -> None:
    var, app = tmp_path / "var", application()
    forget_it = ["forget", HOST, "--yes", "--var", str(var)]
    assert isinstance(CliRunner().invoke(app, forget_it).exception, NoLakeError)
    ensure_secrets(Paths(var).secrets)
    done = CliRunner().invoke(app, forget_it)
    assert done.exit_code == 0, done.output
    assert "\nrun sojourn ingest, then sojourn build to rebuild " in done.output
    assert CliRunner().invoke(app, ["ingest", str(data), "--var", str(var)]).exit_code == 0
    key, _ = Pseudonymiser(address_key(Paths(var).secrets)).keys(HOST)
    assert key is not None
    hosts = [row["client_host_key"] for row in rows(Lake(var / "lake"), "connection")]
    assert hosts
    assert key not in hosts


def test_without_the_keys_of_the_lake_nothing_is_forgotten_and_no_key_is_made(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = Paths(tmp_path / "var")
    ingest(paths.open_lake(), data)
    own, other = Pseudonymiser(KEY).fingerprint, Pseudonymiser(b"another").fingerprint

    def told(*options: str) -> str:
        result = CliRunner().invoke(application(), ["forget", HOST, *options, "--var", str(paths.var)])
        assert isinstance(result.exception, SecretsError)
        assert sorted(path.name for path in paths.var.iterdir()) == ["lake"]
        return str(result.exception)

    for option in ("--yes", "--dry-run"):
        assert told(option) == (
            f"SOJOURN_FORGET_KEY is neither set nor in {paths.secrets}: copy secrets.env from the installation that "
            "ingested the files"
        )
    monkeypatch.setenv("SOJOURN_FORGET_KEY", "forget")
    assert told("--yes").startswith(f"SOJOURN_ADDRESS_KEY is neither set nor in {paths.secrets}: copy secrets.env ")
    monkeypatch.setenv("SOJOURN_ADDRESS_KEY", "another")
    for option in ("--yes", "--dry-run"):
        said = told(option)
        assert f" are under {own}, but the key here is {other}: copy secrets.env from the installation " in said
        assert "\n" not in said
    # Where both keys are in use, the command says which rows it does not look for.
    (tmp_path / "more").mkdir()
    write_hosts(tmp_path / "more", HOST)
    ingest(paths.open_lake(), tmp_path / "more", key=b"another")
    done = CliRunner().invoke(application(), ["forget", HOST, "--dry-run", "--var", str(paths.var)])
    assert f"facts under {own} are not searched: run the command again with SOJOURN_ADDRESS_KEY " in done.stdout


def test_a_host_is_forgotten_by_its_key_without_any_other_key(tmp_path: Path, data: Path) -> None:
    paths = Paths(tmp_path / "var")
    ingest(paths.open_lake(), data)
    done = CliRunner().invoke(application(), ["forget", key_of(HOST), "--yes", "--var", str(paths.var)])
    assert done.exit_code == 0, done.output
    assert key_of(HOST) not in named_hosts(paths.open_lake())
    assert not paths.secrets.exists()


def test_while_a_build_reads_nothing_is_forgotten(tmp_path: Path, data: Path) -> None:
    var = ["--var", str(tmp_path / "var")]
    app = application()
    assert CliRunner().invoke(app, ["ingest", str(data), *var]).exit_code == 0
    lake = Lake(tmp_path / "var" / "lake")
    state = lake.fingerprint()
    with lake.reading():
        refused = CliRunner().invoke(app, ["forget", HOST, "--yes", *var])
    assert refused.exit_code == 1
    assert refused.stderr.startswith("error: another command is reading ")
    assert refused.stderr.count("\n") == 1
    lake.refresh()
    assert lake.fingerprint() == state
    assert not (tmp_path / "var" / "forgotten.jsonl").exists()


def test_a_build_that_begins_while_a_host_is_forgotten_is_told(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    var = ["--var", str(tmp_path / "var")]
    app = application()
    assert CliRunner().invoke(app, ["ingest", str(data), *var]).exit_code == 0
    lake = Lake(tmp_path / "var" / "lake")
    host_key, _ = Pseudonymiser(address_key(Paths(tmp_path / "var").secrets)).keys(HOST)
    with ExitStack() as build:

        def forget_while_read(held: Lake, forgettings: list[Forgetting]) -> None:
            build.enter_context(lake.reading())
            forget(held, forgettings)

        with monkeypatch.context() as patch:
            patch.setattr(forget_command, "forget_in", forget_while_read)
            late = CliRunner().invoke(app, ["forget", HOST, "--yes", *var])
        assert late.exit_code == 1
        assert "removed" not in late.stdout
        assert late.stderr.startswith("error: another command began to read ")
        assert late.stderr.count("\n") == 1
        assert named_on_disk(lake, host_key)
    # Once it has ended, the same command does the rest, though no live row names the host any more.
    again = CliRunner().invoke(app, ["forget", HOST, "--yes", *var])
    assert again.exit_code == 0
    assert named_on_disk(lake, host_key) == set()


def test_a_host_is_pending_until_the_same_command_has_removed_its_rows(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = Paths(tmp_path / "var")
    ingest(paths.open_lake(), data)
    (tmp_path / "more").mkdir()
    write_hosts(tmp_path / "more", HOST)
    ingest(paths.open_lake(), tmp_path / "more", key=b"another")
    monkeypatch.setenv("SOJOURN_FORGET_KEY", "forget")

    def forget_it(host: str = HOST, *, key: str = KEY.decode(), is_killed: bool = False) -> list[str]:
        with monkeypatch.context() as patch:
            patch.setenv("SOJOURN_ADDRESS_KEY", key)
            if is_killed:
                patch.delattr(forget_command, "forget_in")
            done = CliRunner().invoke(application(), ["forget", host, "--yes", "--var", str(paths.var)])
        assert done.exit_code == is_killed, done.output
        return pending_in(paths.forgotten)

    left = "rows of this host may be left: run sojourn forget again for"
    first = f"{paths.forgotten}:1: {left} the same host, which had rows under the key {Pseudonymiser(KEY).fingerprint}"
    assert forget_it(is_killed=True) == [first]
    assert forget_it(OTHER) == [first]
    assert forget_it(key="another") == [first]
    assert forget_it() == []
    assert forget_it(key_of(OTHER), is_killed=True) == [f"{paths.forgotten}:5: {left} {key_of(OTHER)}"]
    assert forget_it(key_of(OTHER)) == []
    entries = [json.loads(line) for line in paths.forgotten.read_text().splitlines()]
    assert [set(entry) for entry in entries] == [{"fingerprint", "forgotten_ns", "rows"}] * 4 + [
        {"host_key", "forgotten_ns", "rows"}
    ] * 2
    assert not named_hosts(paths.open_lake()) & {key_of(HOST), key_of(OTHER)}


def test_a_mark_of_a_key_that_no_facts_have_any_more_is_removed(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = Paths(tmp_path / "var")
    ingest(paths.open_lake(), data, key=b"another")
    monkeypatch.setenv("SOJOURN_FORGET_KEY", "forget")
    monkeypatch.setenv("SOJOURN_ADDRESS_KEY", "another")
    add_to_list(
        paths.forgotten,
        fingerprint=Pseudonymiser(KEY, forgotten=ForgottenHosts(b"forget")).forget_fingerprint(HOST),
        host_keys=(), forgotten_ns=1, rows={}, pending=Pseudonymiser(KEY).fingerprint,
    )  # fmt: skip
    assert len(pending_in(paths.forgotten)) == 1
    done = CliRunner().invoke(application(), ["forget", HOST, "--yes", "--var", str(paths.var)])
    assert done.exit_code == 0, done.output
    assert pending_in(paths.forgotten) == []


def named_on_disk(lake: Lake, host_key: str) -> set[Path]:
    return {
        path
        for table in TABLES
        for path in (lake.root / "data" / table).glob("*")
        for name in host_key_columns(table)
        if host_key in pq.read_table(path).column(name).to_pylist()
    }


def test_what_names_a_host() -> None:
    pseudonymiser = Pseudonymiser(KEY)
    key = "hk-" + "a" * 32
    assert host_keys_of(key, None) == ("host key", {key}, None)
    assert host_keys_of("::ffff:8.8.8.8", pseudonymiser) == ("address", {key_of(HOST), HOST}, HOST)
    named = {pseudonymiser.key_of_name("customer 7")}
    assert host_keys_of("customer 7", pseudonymiser) == ("name", named, "customer 7")


def test_a_file_of_the_user_beside_the_list_stays(tmp_path: Path) -> None:
    path, other = tmp_path / "forgotten.jsonl", tmp_path / ".forgotten.jsonl.swp"
    other.write_text("an editor's")
    # What was killed before the rename is written over.
    (tmp_path / ".forgotten.jsonl.new").write_text("half")
    add_to_list(path, fingerprint="fm-1", host_keys=(), forgotten_ns=1, rows={})
    assert ForgottenHosts.load(path, b"key").fingerprints == {"fm-1"}
    assert sorted(tmp_path.iterdir()) == [other, path]


def test_a_damaged_list_is_told_and_never_ignored(tmp_path: Path) -> None:
    path = tmp_path / "forgotten.jsonl"
    add_to_list(path, fingerprint="fm-1", host_keys=(), forgotten_ns=1, rows={})
    add_to_list(path, fingerprint=None, host_keys={"hk-2"}, forgotten_ns=2, rows={"flow": 1})
    hosts = ForgottenHosts.load(path, b"key")
    assert (hosts.fingerprints, hosts.host_keys) == ({"fm-1"}, {"hk-2"})
    with path.open("ab") as handle:
        handle.write(b'{"mar\xff')
    damaged = path.read_bytes()
    with pytest.raises(ForgottenListError, match=":3: not an entry"):
        ForgottenHosts.load(path, b"key")
    with pytest.raises(ForgottenListError, match=":3: not an entry"):
        add_to_list(path, fingerprint="fm-3", host_keys=(), forgotten_ns=3, rows={})
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("content", [None, b"", b"no facts"])
@pytest.mark.usefixtures("keys")
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, data: Path, content: bytes | None) -> None:
    lake = Lake(tmp_path / "var" / "lake")
    ingest(lake, data)
    name = lake.objects("flow")[0]
    path = lake.root / name
    path.unlink() if content is None else path.write_bytes(content)
    before = sorted(lake.root.rglob("*.parquet"))
    for options in (["--yes"], ["--dry-run"]):
        result = CliRunner().invoke(application(), ["forget", HOST, "--var", str(tmp_path / "var"), *options])
        assert isinstance(result.exception, LakeDamagedError)
        said = str(result.exception)
        assert ("\n" in said, f"{name} cannot be read (" in said) == (False, True)
        assert "); run sojourn maintain verify --var " in said
    assert sorted(lake.root.rglob("*.parquet")) == before
    assert not Paths(tmp_path / "var").forgotten.exists()


@pytest.mark.usefixtures("keys")
def test_a_host_is_not_listed_while_what_hides_its_rows_is_missing(tmp_path: Path, data: Path) -> None:
    lake = Lake(tmp_path / "var" / "lake")
    ingest(lake, data)
    name = lake.objects("ingest_outcome")[0]
    (lake.root / name).unlink()
    result = CliRunner().invoke(application(), ["forget", OTHER, "--yes", "--var", str(tmp_path / "var")])
    assert f"{name} is missing" in str(result.exception)
    assert not Paths(tmp_path / "var").forgotten.exists()
