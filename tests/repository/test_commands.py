"""One convention for the command line, over every command that there is."""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import click
import pytest
import typer

from sojourn_ingest.cli import application, main

#: Those after which facts of the lake are gone.
DESTRUCTIVE = {"forget", "maintain expire", "maintain repair"}
#: What an option means, wherever a command has it.
MEANINGS = {
    "--var": "Folder of all generated files. Default: $SOJOURN_VAR or ./var.",
    "--dry-run": "Show what would be done, without doing it.",
    "--yes": "Do not ask for confirmation.",
    "--json": "Print the numbers of every figure as JSON;",
    "--full": "Count every day of connections from scratch",
    "--workers": r"Number of (files decoded|days written) in parallel; each uses one core.",
    "--out": r"(Page to write|File to write to|Folder to write to|Folder of the r)",
    "--engine": r"(threads \(or duckdb, as in sojourn build\)|duckdb): this machine; spark: ",
}
#: Options whose values nobody can list beforehand: names and settings of a machine, what people write, and what a build
#: happens to have. Any other that takes a text is a choice.
OPEN = {
    "--allow-host", "--host", "--master", "--memory", "--spark-conf", "--url",
    "--author", "--date", "--ingest-options", "--older-than", "--source", "--title",
    "--basis", "--block", "--datasets", "--role", "--studies", "--where",
}  # fmt: skip
#: A line to copy, and how long it may be: a help has 78 columns, less its indent.
EXAMPLE = re.compile(r"\s*(sojourn|curl|zcat|make|[A-Z_]+=\S+) ")
EXAMPLE_COLUMNS = 74
#: An option with its choices, as the first column of a help.
LONGEST_USAGE = 60
PING = """PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
[1700000000.000000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=10.0 ms

--- 192.0.2.1 ping statistics ---
1 packets transmitted, 1 received, 0% packet loss, time 0ms
rtt min/avg/max/mdev = 10.0/10.0/10.0/0.0 ms
"""
#: Modules that say how many there are of something.
TELLING = (
    "ingest/src/sojourn_ingest/cli/*.py",
    "testbed/src/sojourn_testbed/commands.py",
    "transforms/src/sojourn_transforms/*ing*.py",
    "transforms/src/sojourn_transforms/look/command.py",
    "transforms/src/sojourn_transforms/maintenance.py",
    "transforms/src/sojourn_transforms/watching/*.py",
)
#: What is counted there, as `1 rows` would be written.
PLURAL = re.compile(
    r"\{[^{}]*\} (?:[a-z]+ )?"
    r"(?:attempts|blocks|circuits|commits|connections|files|frames|packets|rows|samples|sources|tables|tests)\b"
)
#: Sentences that list values belong to a choice: "linear: differences; log: ratios".
LISTED = re.compile(r"^[a-z][\w-]*: [^;]*; [a-z][\w-]*: ")


def commands() -> dict[str, click.Command]:
    def below(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            for name, one in command.commands.items():
                yield from below(one, (*path, name))
        else:
            yield " ".join(path), command

    return dict(below(typer.main.get_command(application()), ()))


COMMANDS = commands()


def options(command: click.Command) -> dict[str, click.Option]:
    return {name: one for one in command.params if isinstance(one, click.Option) for name in one.opts}


@dataclass(frozen=True)
class Ended:
    status: int
    stdout: str
    stderr: str


@pytest.fixture
def sojourn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return what runs the command in this process, without a terminal, and how it ended."""
    nothing = io.StringIO()

    def run(*arguments: str, keyboard: IO[str] = nothing) -> Ended:
        monkeypatch.setattr(sys, "argv", ["sojourn", *arguments])
        monkeypatch.setattr(sys, "stdin", keyboard)
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_an_example_and_its_options_mean_what_they_mean_elsewhere(name: str) -> None:
    command = COMMANDS[name]
    assert f"sojourn {name}" in (command.help or "").partition("For example:")[2]
    assert command.get_short_help_str(200).endswith(".")
    examples = [line.strip() for line in (command.help or "").splitlines() if EXAMPLE.match(line)]
    assert not [line for line in examples if len(line) > EXAMPLE_COLUMNS], "the help would break the line"
    for option, one in options(command).items():
        if option in MEANINGS:
            assert re.match(MEANINGS[option].replace("$", r"\$"), one.help or ""), option
        assert not LISTED.match(one.help or "") or isinstance(one.type, click.Choice), f"{option} is a choice"


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_with_a_closed_set_of_values_is_a_choice_whose_help_lists_them(name: str) -> None:
    context = click.Context(COMMANDS[name])
    for option, one in options(COMMANDS[name]).items():
        is_text = isinstance(one.type, click.types.StringParamType)
        assert is_text <= (option in OPEN), f"{option} is a choice; or its values are open, and it belongs to OPEN"
        if isinstance(one.type, click.Choice):
            usage, text = one.get_help_record(context) or ("", "")
            values = re.findall(r"[\w-]+", text if one.metavar else usage.partition("[")[2])
            assert {str(value) for value in one.type.choices} <= set(values), option
            assert len(usage) < LONGEST_USAGE, f"{option} lists its values in the help, and has a metavar"


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_without_its_values_is_answered_with_the_usage(name: str, sojourn: Callable[..., Ended]) -> None:
    for option, one in options(COMMANDS[name]).items():
        if not one.is_flag:
            done = sojourn(*name.split(), option, *["one"] * (one.nargs - 1))
            assert re.fullmatch(rf"Usage: sojourn {name} .*\n.*\n\nerror: Option '{option}' .*\n", done.stderr), option


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--tls-key", "key.pem"),
        ("serve", "--tls-certificate", "certificate.pem"),
        ("serve", "--var", "var", "--snapshots", "snapshots"),
        ("compare-builds", "missing", "too"),
        ("verify", "missing"),
        ("merge", "missing", "too", "--into", "all"),
        ("forget", " "),
        ("forget", "\udcff"),
        ("ingest", ".", "--master", "spark://host:7077"),
        ("build", "--spark-conf", "spark.executor.memory=8g"),
        ("maintain compact", "--master", "spark://host:7077"),
        ("report", "study", "--where", "rtt=50"),
        ("publish", "out", "--date", "2026-13-01"),
        ("publish", "out", "--date", "20261301"),
        ("sql", "questions.sql"),
    ],
)
def test_arguments_that_do_not_go_together_or_are_not_there_are_answered_with_the_usage(
    sojourn: Callable[..., Ended], arguments: tuple[str, ...]
) -> None:
    done = sojourn(*arguments[0].split(), *arguments[1:])
    assert (done.status, done.stderr.split(" [OPTIONS]")[0]) == (2, f"Usage: sojourn {arguments[0]}")


def test_a_mistyped_value_of_a_long_choice_is_answered_with_the_nearest_and_a_strange_one_with_all(
    sojourn: Callable[..., Ended],
) -> None:
    arguments = ("maintain", "expire", "--older-than", "1d", "--table", "series", "--table")
    for command, nearest in ((arguments, "packet"), (("report", "study", "--metric"), "harm")):
        done = sojourn(*command, f"{nearest}s")
        assert (done.status, done.stderr.partition(": there is no ")[2]) == (
            2,
            f"'{nearest}s'. Did you mean '{nearest}'?\n",
        )
        (_, _, choices) = sojourn(*command, "zzzz").stderr.partition(": there is no 'zzzz'. One of: ")
        assert nearest in choices.rstrip(".\n").split(", ")
        assert "ingest_outcome" not in choices
        assert sojourn(*command, nearest.upper()).status != 2


@pytest.mark.parametrize("name", COMMANDS)
def test_what_removes_facts_asks_and_can_be_tried(name: str) -> None:
    assert ("--yes" in options(COMMANDS[name])) == (name in DESTRUCTIVE)
    assert name not in DESTRUCTIVE or "--dry-run" in options(COMMANDS[name])
    assert not {"--apply", "--force-yes", "-y"} & set(options(COMMANDS[name]))


def test_choices_stand_in_the_help(sojourn: Callable[..., Ended]) -> None:
    shown = sojourn("ingest", "--help").stdout
    for choices in ("[pseudonymise|keep]", "[registrable|full|none]", "[keep|hashed]", "[threads|duckdb|spark]"):
        assert choices in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("--nonsense",),
        ("forget",),
        ("maintain", "expire"),
        ("maintain", "expire", "--older-than", "1d"),
        ("maintain", "expire", "--older-than", "soon", "--table", "packet"),
        ("ingest", "missing\x1b[31m.pcap"),
        ("build", "--engine", "flink"),
        ("serve", "--snapshots", "missing"),
        ("compare-builds", "missing", "too"),
        ("verify", "missing"),
        ("sql", "select 1", "--var", "missing"),
        ("report", "study", "--var", "missing"),
    ],
)
def test_errors_begin_alike_and_no_code_of_a_terminal_goes_into_a_pipe(
    sojourn: Callable[..., Ended], arguments: tuple[str, ...]
) -> None:
    done = sojourn(*arguments)
    assert done.status in (1, 2)
    assert re.fullmatch(r"(Usage: [^\n]*\nTry '[^\n]*\n\n)?error: [^\n]+\n", done.stderr), done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [(("lok",), "look"), (("maintain", "verfy"), "verify"), (("--verison",), "--version")],
)
def test_the_nearest_name_is_proposed_once(
    sojourn: Callable[..., Ended], arguments: tuple[str, ...], nearest: str
) -> None:
    (_, _, proposed) = sojourn(*arguments).stderr.partition("Did you mean ")
    assert proposed == f"'{nearest}'?\n"


def test_a_group_without_a_command_prints_its_help(sojourn: Callable[..., Ended]) -> None:
    shown = sojourn("maintain")
    assert "Commands:\n  status " in shown.stdout + shown.stderr
    assert "\\n" not in shown.stdout + shown.stderr


def test_a_terminal_is_asked_and_its_answer_counts(tmp_path: Path, sojourn: Callable[..., Ended]) -> None:
    (tmp_path / "ping.txt").write_text(PING)
    os.utime(tmp_path / "ping.txt", (0, 0))
    var = ("--var", str(tmp_path / "var"))
    assert sojourn("ingest", str(tmp_path / "ping.txt"), *var).status == 0
    command = ("maintain", "expire", "--table", "series", "--older-than", "1d", *var)
    unasked = sojourn(*command)
    assert (unasked.status, unasked.stderr.partition(";")[0]) == (1, "error: nothing was changed")
    would = unasked.stdout
    assert re.fullmatch(r".*/ping\.txt: \d+ rows? of series\n\d+ rows? of 1 source would be removed\n", would)
    for answer, ends_with in (("n\n", "would be removed\n"), ("y\n", "frees their space\n")):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "wb", 0) as keys, os.fdopen(theirs) as keyboard:
            keys.write(answer.encode())
            done = sojourn(*command, keyboard=keyboard)
        assert done.stderr.startswith("Do it? [y/N]: ")
        assert done.stdout.startswith(would)
        assert done.stdout.endswith(ends_with), done.stdout


@pytest.mark.parametrize("how", [(), ("--dry-run",), ("--yes",)], ids=" ".join)
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("maintain", "expire", "--table", "series", "--older-than", "1d"), "nothing to expire"),
        (("maintain", "repair"), "nothing is damaged"),
    ],
)
def test_nothing_to_remove_is_one_line_and_no_error(
    command: tuple[str, ...], said: str, how: tuple[str, ...], tmp_path: Path, sojourn: Callable[..., Ended]
) -> None:
    (tmp_path / "ping.txt").write_text(PING)
    var = ("--var", str(tmp_path / "var"))
    assert sojourn("ingest", str(tmp_path / "ping.txt"), *var).status == 0
    assert sojourn(*command, *how, *var) == Ended(0, f"{said}\n", "")


@pytest.mark.parametrize(
    "command",
    [
        ("maintain", "status"), ("maintain", "verify"), ("maintain", "repair", "--yes"), ("maintain", "compact"),
        ("maintain", "expire", "--table", "series", "--older-than", "1d", "--yes"), ("forget", "192.0.2.1", "--yes"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_mistyped_folder_is_no_lake_without_damage(
    command: tuple[str, ...], tmp_path: Path, sojourn: Callable[..., Ended]
) -> None:
    missing = tmp_path / "vra"
    done = sojourn(*command, "--var", str(missing))
    assert (done.status, done.stdout, done.stderr) == (1, "", f"error: {missing}: no such folder\n")
    assert not missing.exists()


@pytest.mark.parametrize("command", [("secrets", "--var"), ("generate", "flent", "--out")], ids=" ".join)
def test_a_file_in_the_way_of_a_folder_is_named_without_a_number_of_the_system(
    command: tuple[str, ...], tmp_path: Path, sojourn: Callable[..., Ended]
) -> None:
    file = tmp_path / "file"
    file.touch()
    done = sojourn(*command, str(file))
    assert (done.status, done.stderr) == (1, f"error: {file}: a file with this name exists; give another name\n")


def test_a_module_that_is_run_has_the_name_of_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sojourn_ingest.cli", "ingest", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.startswith("Usage: sojourn ingest ")


def test_the_list_of_commands_ends_each_sentence(sojourn: Callable[..., Ended]) -> None:
    (_, _, listed) = sojourn("--help").stdout.partition("Commands:")
    assert "sql" in listed
    assert "..." not in listed


def test_one_is_no_plural() -> None:
    root = Path(__file__).resolve().parents[2]
    modules = [path for pattern in TELLING for path in root.glob(pattern)]
    assert len(modules) > 12
    wrong = [
        f"{path.name}: {plural[0]}; use counted()" for path in modules for plural in PLURAL.finditer(path.read_text())
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [("uvicorn", ("run",), "serve"), ("scipy", ("watch", "--once"), "build")],
)
def test_a_missing_extra_is_named_before_anything_is_read(
    module: str,
    arguments: tuple[str, ...],
    extra: str,
    sojourn: Callable[..., Ended],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    files, var = tmp_path / "files", tmp_path / "var"
    files.mkdir()
    (files / "ping.txt").write_text(PING)
    monkeypatch.setattr("sojourn_ingest.command_line.find_spec", lambda name: None if name == module else name)
    done = sojourn(*arguments, str(files), "--var", str(var))
    assert (done.status, done.stderr) == (1, f"error: {module} is not installed: pip install 'sojourn[{extra}]'\n")
    assert not var.exists()


def test_a_look_with_changed_models_and_no_dbt_says_what_to_install(
    sojourn: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ping.txt").write_text(PING)
    models = Path(__file__).resolve().parents[2] / "models"
    shutil.copytree(models, tmp_path / "models", ignore=shutil.ignore_patterns("target", "logs"))
    monkeypatch.setenv("SOJOURN_MODELS", str(tmp_path / "models"))
    monkeypatch.setitem(sys.modules, "sojourn_transforms.dbt.compilation", None)
    arguments = ("--out", str(tmp_path / "look.html"), "--no-open", "--workers", "1")
    done = sojourn("look", str(tmp_path / "ping.txt"), *arguments)
    assert done.status == 1
    assert done.stderr.endswith("dbt is not installed: pip install 'sojourn[dbt]', or unset SOJOURN_MODELS\n")
    assert "Traceback" not in done.stderr


def test_a_store_without_its_client_says_what_to_install(
    sojourn: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "obstore.exceptions", None)
    done = sojourn("ingest", "gs://bucket/folder", "--var", str(tmp_path / "var"))
    assert done.status == 1
    assert done.stderr.endswith(": pip install 'sojourn[object-store]', or `make setup-spark` in a checkout\n")
