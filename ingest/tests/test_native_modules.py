"""The Rust crates' modules: no circle of files or folders, none too long, no folder too full."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
CRATES = [NATIVE / name for name in ("decode", "histograms", "histograms_python", "python")]
MOST_LINES = 500
MOST_FILES = 20

Graph = dict[str, set[str]]

# A path into the crate, and the names in braces behind it.
_USE = re.compile(r"\b(crate|super|self)((?:::(?:super|[a-z_0-9]+))*)(?:::(\{[^;]*?\}|[A-Za-z_0-9]+))?")
_MACRO_PATH = re.compile(r"\$crate\b")


def code_of(source: str) -> str:
    """Return Rust source without comments, texts, and what is compiled for tests alone."""
    source = re.sub(r'"(?:\\.|[^"\\])*"', '""', source)
    source = re.sub(r"//[^\n]*", "", source)
    source = _MACRO_PATH.sub("crate", source)
    kept = []
    place = 0
    for match in re.finditer(r"#\[cfg\(test\)\]\s*", source):
        if match.start() < place:
            continue
        kept.append(source[place : match.start()])
        place = _end_of_item(source, match.end())
    return "".join([*kept, source[place:]])


def _end_of_item(source: str, start: int) -> int:
    depth = 0
    for place in range(start, len(source)):
        depth += {"{": 1, "}": -1}.get(source[place], 0)
        if (source[place] == ";" and depth == 0) or (source[place] == "}" and depth == 0):
            return place + 1
    return len(source)


def module_of(path: Path, root: Path) -> str:
    """Return the module's path from the crate's root, such as ``queue::format::perf``; empty for the root itself."""
    parts = path.relative_to(root).with_suffix("").parts
    return "::".join(part for part in parts if part not in ("mod", "lib"))


def paths_in(code: str, module: str) -> Iterator[str]:
    """Yield each path into the crate that the code of a module names."""
    for match in _USE.finditer(code):
        start, middle, last = match.groups()
        if not middle and last is None:
            # ``pub(crate)``, or ``self`` as a value.
            continue
        steps = [step for step in middle.split("::") if step]
        base = [] if start == "crate" else module.split("::")
        if start == "super":
            base = base[:-1]
        while steps and steps[0] == "super":
            base, steps = base[:-1], steps[1:]
        names = re.findall(r"[A-Za-z_0-9:]+", last or "") or [""]
        for name in names:
            yield "::".join([*base, *steps, name]).rstrip(":")


def module_graph(root: Path) -> Graph:
    """Return of each module of a crate the others that its code names, tests aside; the root is the empty name."""
    files = {module_of(path, root): path for path in root.rglob("*.rs")}
    tops = "|".join(sorted({module.partition("::")[0] for module in files} - {""}))
    graph: Graph = {module: set() for module in files}
    for module, path in files.items():
        code = code_of(path.read_text())
        if not module:
            # The root names its modules without a prefix.
            code = re.sub(rf"(?<![\w:])({tops})::", r"crate::\1::", code)
        for named in paths_in(code, module):
            while named and named not in files:
                named = named.rpartition("::")[0]
            if named != module:
                graph[module].add(named)
    return graph


def folder_graph(graph: Graph) -> Graph:
    """Return the graph of what lies directly under the crate's root: folders with all below them, and single files."""
    folders: Graph = {}
    for module, others in graph.items():
        folder = module.partition("::")[0]
        folders.setdefault(folder, set()).update(other.partition("::")[0] for other in others)
        folders[folder].discard(folder)
    return folders


def circle(graph: Graph) -> list[str]:
    """Return one circle of a graph, first and last the same; empty where there is none."""
    done: set[str] = set()
    trail: list[str] = []

    def visit(module: str) -> list[str]:
        if module in trail:
            return [*trail[trail.index(module) :], module]
        if module in done:
            return []
        trail.append(module)
        for other in sorted(graph.get(module, ())):
            if modules := visit(other):
                return modules
        trail.pop()
        done.add(module)
        return []

    for module in sorted(graph):
        if modules := visit(module):
            return modules
    return []


def write_crate(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_no_circle_between_modules_or_folders(crate: Path) -> None:
    graph = module_graph(crate / "src")
    assert circle(graph) == []
    assert circle(folder_graph(graph)) == []


def test_the_graph_has_what_the_decoder_is_made_of() -> None:
    graph = module_graph(NATIVE / "decode" / "src")
    assert {"input", "packet", "capture", "rtp", "flow", "pair", "queue", "connection", "pseudonym"} <= graph[""] | {
        module.partition("::")[0] for module in graph
    }
    assert "packet::tunnel" in graph["packet::layers"]
    assert "packet::types" in graph["packet::tunnel"]
    assert sum(map(len, graph.values())) > 200


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use crate::b::other::B;", "use crate::a::one::{A, Aa};"),
        ("use crate::b::{other::B, third};", "use super::super::a::one;"),
        ("fn f() { crate::b::other::g() }", "fn g() { crate::a::one::f() }"),
        ("use crate::b::other; // a comment", "macro_rules! m { () => { $crate::a::one::f() } }"),
    ],
)
def test_a_circle_is_found_however_it_is_written(tmp_path: Path, one: str, other: str) -> None:
    root = write_crate(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod b;\n",
            "a/mod.rs": "pub(crate) mod one;\n",
            "b/mod.rs": "pub(crate) mod other;\n",
            "a/one.rs": one,
            "b/other.rs": other,
        },
    )
    graph = module_graph(root)
    assert circle(graph) == ["a::one", "b::other", "a::one"]
    assert circle(folder_graph(graph)) == ["a", "b", "a"]


def test_an_item_of_the_root_makes_a_circle_with_what_the_root_names(tmp_path: Path) -> None:
    files = {"lib.rs": "mod a;\nstruct Seen;\nfn f() { a::A }", "a.rs": "use crate::Seen;\npub(crate) struct A;"}
    assert circle(module_graph(write_crate(tmp_path, files))) == ["", "a", ""]


def test_an_item_of_a_folders_own_file_makes_a_circle_with_a_file_in_it(tmp_path: Path) -> None:
    files = {"a/mod.rs": "mod one;\nuse self::one::A;\npub(crate) struct B;", "a/one.rs": "use super::B;"}
    assert circle(module_graph(write_crate(tmp_path, files))) == ["a", "a::one", "a"]


def test_folders_can_make_a_circle_that_files_do_not(tmp_path: Path) -> None:
    files = {
        "a/one.rs": "use crate::b::two::B;",
        "b/two.rs": "",
        "b/three.rs": "use crate::a::four::A;",
        "a/four.rs": "",
    }
    graph = module_graph(write_crate(tmp_path, files))
    assert circle(graph) == []
    assert circle(folder_graph(graph)) == ["a", "b", "a"]


def test_tests_comments_and_texts_make_no_circle(tmp_path: Path) -> None:
    files = {
        "a.rs": "use crate::b::B;",
        "b.rs": '// crate::a\nconst T: &str = "crate::a::A";\n#[cfg(test)]\nuse crate::a::A;\n'
        "#[cfg(test)]\nmod tests {\n    use crate::a::{A, B};\n    fn f() { if true { } }\n}\n",
    }
    assert module_graph(write_crate(tmp_path, files)) == {"a": {"b"}, "b": set()}


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_no_module_is_long_and_no_folder_is_full(crate: Path) -> None:
    folders: dict[Path, int] = {}
    for path in (crate / "src").rglob("*.rs"):
        folders[path.parent] = folders.get(path.parent, 0) + 1
        lines = path.read_text().partition("\n#[cfg(test)]\nmod tests {")[0].count("\n")
        assert lines < MOST_LINES, path
    assert max(folders.values()) <= MOST_FILES, folders
