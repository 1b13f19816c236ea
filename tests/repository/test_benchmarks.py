"""Benchmarks use what packages offer in public, and nothing uses benchmarks."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

PACKAGES = ("ingest", "transforms", "api", "dashboards")
NOT_OURS = {".venv", "target", "var"}


def trees(source: str) -> Iterator[ast.Module]:
    """The program, and every program that it holds as text for a process of its own."""
    tree = ast.parse(source)
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            try:
                yield ast.parse(node.value)
            except SyntaxError:
                continue


def imports(source: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Modules that a program imports, with the names taken from them."""
    for tree in trees(source):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, ()) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module or "", tuple(alias.name for alias in node.names)


def ours(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*.py")) if not NOT_OURS & set(path.relative_to(root).parts)]


@pytest.fixture(scope="module")
def benchmarks(repository: Path) -> list[Path]:
    scripts = ours(repository / "benchmarks")
    assert len(scripts) > 5
    return scripts


def test_imports_are_found_in_programs_within_programs() -> None:
    source = 'import a.b\nINNER = """\nfrom c import d, _e\n"""\nWORDS = "what they import is goods"\n'
    assert list(imports(source)) == [("a.b", ()), ("c", ("d", "_e"))]


def test_benchmarks_import_only_what_is_public_and_there(benchmarks: list[Path]) -> None:
    seen = 0
    for path in benchmarks:
        for module, names in imports(path.read_text(encoding="utf-8")):
            if not module.startswith("sojourn"):
                continue
            seen += 1
            parts = (*module.split("."), *names)
            assert not any(part.startswith("_") for part in parts), f"{path.name} imports {module} {names}"
            loaded = importlib.import_module(module)
            for name in names:
                exists = hasattr(loaded, name) or importlib.util.find_spec(f"{module}.{name}")
                assert exists, f"{path.name}: {module} has no {name}"
    assert seen > 20


def test_nothing_imports_benchmarks(repository: Path, benchmarks: list[Path]) -> None:
    modules = {path.stem for path in benchmarks} | {"benchmarks"}
    checked = [path for folder in (*PACKAGES, "infra", "notebooks", "tests") for path in ours(repository / folder)]
    assert len(checked) > 100
    for path in checked:
        for module, _ in imports(path.read_text(encoding="utf-8")):
            assert module.split(".")[0] not in modules, f"{path.relative_to(repository)} imports {module}"


@pytest.fixture
def raw_results(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    monkeypatch.delitem(sys.modules, "raw_results", raising=False)
    monkeypatch.setenv("SOJOURN_BENCHMARK_RESULTS", str(tmp_path))
    monkeypatch.setattr(
        sys, "argv", [str(repository / "benchmarks" / "some_speed.py"), "--var", str(repository / "x"), "-n", "1"]
    )
    return importlib.import_module("raw_results")


def test_results_are_printed_rounded_and_kept_whole(
    raw_results: ModuleType, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = raw_results.Results("some")
    table = results.table("What it took", {"tool": "", "packets": ",", "CPU s": ".2f"})
    table.row("first", 1_999_968, 1.23456)
    table.row("left out", None, None)
    results.note("That was all.")
    assert capsys.readouterr().out.splitlines() == [
        *("", "What it took", ""),
        *("| tool | packets | CPU s |", "|---|---|---|", "| first | 1,999,968 | 1.23 |", "| left out |  |  |"),
        *("", "That was all."),
    ]
    (path,) = (tmp_path / "some").iterdir()
    kept = json.loads(path.read_text())
    assert kept["tables"] == [
        {
            "title": "What it took",
            "rows": [
                {"tool": "first", "packets": 1_999_968, "CPU s": 1.23456},
                {"tool": "left out", "packets": None, "CPU s": None},
            ],
        }
    ]
    assert kept["notes"] == ["That was all."]
    assert kept["command"] == "python benchmarks/some_speed.py --var x -n 1"
    assert kept["machine"]["cores"] >= 1
    assert str(repository) not in path.read_text()


def test_a_row_needs_every_column(raw_results: ModuleType) -> None:
    table = raw_results.Results("some").table("What it took", {"tool": "", "CPU s": ".2f"})
    with pytest.raises(ValueError, match="zip"):
        table.row("first")


def test_an_interrupted_run_keeps_what_it_had(raw_results: ModuleType) -> None:
    results = raw_results.Results("some")
    table = results.table("What it took", {"tool": "", "CPU s": ".2f"})
    table.row("first", 1.0)
    assert json.loads(results.path.read_text())["tables"][0]["rows"] == [{"tool": "first", "CPU s": 1.0}]


@pytest.mark.parametrize(("module", "function", "sizes"), [
    ("synthetic_lake", "generate", (4, 40)), ("synthetic_captures", "generate_captures", (30_000,)),
])  # fmt: skip
def test_a_generated_lake_is_one_that_a_build_takes(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, function: str, sizes: tuple[int]
) -> None:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    getattr(importlib.import_module(module), function)(tmp_path, *sizes)
    (commit,) = (tmp_path / "commits").glob("*.json")
    files = json.loads(commit.read_text())["files"]
    assert {"flow", "flow_interval", "ingest_outcome"} <= {file["table"] for file in files}
    for file in files:
        path = tmp_path / file["path"]
        assert (file["size_bytes"], file["rows"]) == (path.stat().st_size, pq.read_metadata(path).num_rows)
    (flows,) = (file["rows"] for file in files if file["table"] == "flow")
    assert flows == pytest.approx(sizes[-1], rel=0.1)
