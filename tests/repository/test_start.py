"""What each command loads before it does its work: names of modules, because times depend on the machine.

`sojourn --help` took 0.8 s of CPU when every command loaded SciPy, statsmodels, pandas, DuckDB and the lake's schema.
Now a module that declares commands imports nothing heavier than Typer, and the module that does the work is imported
once the arguments are checked. Typer stays below 0.25, which imports pydantic, and help is plain text without Rich.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn_transforms.project import find_project
from sojourn_transforms.running.compiled import compiled_project

#: Runs the command and writes which distributions' modules it has loaded, of which the standard library is not asked.
RUNNER = """
import json, pathlib, sys
out = pathlib.Path(sys.argv.pop(1))
from sojourn_ingest.cli import main
try:
    main()
finally:
    names = {name.partition(".")[0] for name in sys.modules}
    standard = set(sys.stdlib_module_names) | {"__main__", "__mp_main__", "cython_runtime"}
    out.write_text(json.dumps(sorted(n for n in names - standard if not n.startswith(("_", "sitecustomize")))))
"""

#: Typer with what it is made of, and the packages that declare commands and the names in their choices.
TYPER = {"typer", "click", "annotated_doc"}
DECLARED = {
    "sojourn_ingest", "sojourn_process", "sojourn_transforms", "sojourn_statistics", "sojourn_api", "sojourn_testbed",
}  # fmt: skip
COMMAND = TYPER | DECLARED
#: Loaded where they are installed: by Typer to guess the shell, by pyarrow for time zones (dateutil, which needs six).
ALLOWED = {"shellingham", "typing_extensions", "colorama", "dateutil", "six"}
LAKE = {"pyarrow", "numpy", "pydantic", "pydantic_core", "annotated_types", "typing_inspection", "yaml"}
INGEST = COMMAND | LAKE | {"rich", "maxminddb", "dotenv", "ijson", "msgpack"}


def loaded(tmp_path: Path, *arguments: str, status: int) -> set[str]:
    out = tmp_path / "modules.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SOJOURN_", "COV_"))}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(out), *arguments],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return set(json.loads(out.read_text())) - ALLOWED


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--help",), 0),
        (("--version",), 0),
        (("nonsense",), 2),
        *(
            ((command, "--help"), 0)
            for command in (
                "look",
                "watch",
                "report",
                "sql",
                "ingest",
                "build",
                "serve",
                "publish",
                "verify",
                "merge",
                "forget",
                "generate",
                "maintain",
                "qoe",
                "run",
            )
        ),
        (("testbed", "run", "--help"), 0),
        (("ingest", "--nonsense"), 2),
        (("ingest", "missing.pcap"), 2),
        (("look",), 2),
        (("look", "missing.pcap"), 2),
        (("look", ".", "--compare", ".", "."), 2),
        (("report",), 2),
        (("sql", "select 1", "--format", "parquet"), 2),
        (("sql", "select 1", "--format", "xml"), 2),
        (("report", "study", "--scale", "square"), 2),
        (("report", "study", "--where", "rtt_ms"), 2),
        (("report", "study", "--metric", "harms"), 2),
        (("ingest", ".", "--addresses", "nonsense"), 2),
        (("build", "--nonsense"), 2),
        (("build", "--engine", "nonsense"), 2),
        (("compare-builds", "only-one"), 2),
        (("serve", "--port", "http"), 2),
        (("maintain", "expire", "--older-than", "soon", "--table", "packet"), 2),
        (("maintain", "expire", "--older-than", "1d", "--table", "packets"), 2),
        (("testbed", "run", "missing.yaml"), 2),
        (("publish", "out", "--date", "today"), 2),
        (("publish", "out", "--url", "data.example.org"), 2),
        (("verify", "missing"), 2),
        (("merge", "missing", "too", "--into", "all"), 2),
    ],
)
def test_help_and_errors_in_arguments_load_nothing_but_the_command_line(
    tmp_path: Path, arguments: tuple[str, ...], status: int
) -> None:
    assert loaded(tmp_path, *arguments, status=status) == COMMAND


def test_an_ingest_loads_arrow_and_no_database_no_pandas_and_no_scipy(tmp_path: Path, sample: Path) -> None:
    log = sorted(sample.glob("*/queue_bpftrace.txt.xz"))[0]
    assert loaded(tmp_path, "ingest", str(log), "--var", str(tmp_path / "var"), status=0) == INGEST


def test_a_build_without_facts_says_so_before_it_loads_dbt_or_scipy(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "build", "--var", str(tmp_path / "var"), status=1)
    assert modules - INGEST == {"duckdb", "sojourn_snapshot"}


def test_a_look_loads_what_draws_and_neither_dbt_nor_pandas_nor_scipy(tmp_path: Path, sample: Path) -> None:
    log = sorted(sample.glob("*/queue_bpftrace.txt.xz"))[0]
    # As in a wheel: what a checkout has not compiled yet, dbt compiles first.
    compiled_project(find_project(), "duckdb")
    modules = loaded(tmp_path, "look", str(log), "--no-open", status=0)
    assert {"matplotlib", "jinja2", "duckdb"} <= modules
    assert modules.isdisjoint({"dbt", "pandas", "scipy", "statsmodels", "fastapi", "pyspark", "sojourn_client"})


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [("uvicorn", ("serve",), "serve"), ("scipy", ("build",), "build")],
)
def test_what_an_installation_lacks_is_named_with_its_extra(
    module: str, arguments: tuple[str, ...], extra: str, tmp_path: Path
) -> None:
    package = tmp_path / "without" / module
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"raise ModuleNotFoundError('no module', name={module!r})")
    (tmp_path / "ping.txt").write_text(
        "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=10.5 ms\n"
    )
    sojourn, var = Path(sys.executable).parent / "sojourn", tmp_path / "var"
    subprocess.run([sojourn, "ingest", tmp_path / "ping.txt", "--var", var], check=True, capture_output=True)
    done = subprocess.run(
        [sojourn, *arguments, "--var", var],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "without")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"error: {module} is not installed: pip install 'sojourn[{extra}]'"
