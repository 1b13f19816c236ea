"""Regular expressions that read texts and names of inputs take time in proportion to them, whatever they are."""

from __future__ import annotations

import ast
import importlib.util
import re
import time
from collections.abc import Iterator
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from sojourn_ingest.formats.quality import wget_log
from sojourn_ingest.formats.series.known_texts import TEXTS
from sojourn_ingest.formats.series.texts_for_people import LONGEST_START_BYTES

PACKAGES = (
    "sojourn_ingest",
    "sojourn_process",
    "sojourn_snapshot",
    "sojourn_statistics",
    "sojourn_transforms",
    "sojourn_api",
    "sojourn_client",
    "sojourn_testbed",
)
#: These read no input: SQL of the project, drawings and metrics that Sojourn has made, and what Java says of itself.
READ_NO_INPUT = (
    "sojourn_transforms.look.drawing",
    "sojourn_transforms.running.data_tests",
    "sojourn_transforms.running.sql_text",
    "sojourn_transforms.spark.",
    "sojourn_superset.service",
)
#: Superset's environment is another one: these modules are read and not imported.
DASHBOARDS = Path(__file__).parents[3] / "dashboards" / "src"
#: What uses an expression, and the place of its flags in a call of `re`.
USES = {"match": 2, "fullmatch": 2, "search": 2, "finditer": 2, "findall": 2, "split": 3, "sub": 4}
EXPRESSION = re.compile(rf"\bre\.(?:compile|{'|'.join(USES)})\(")
CHARACTERS = 20_000
#: A line that is read once takes a fraction of this for so many characters; one that is read again for each takes more.
LEAST_S = 0.02
#: Nothing that is read once takes as long as this, on any machine.
MOST_S = 0.3
#: What takes exponential time is seen in the first of these, what takes quadratic time in the last.
LENGTHS = (*range(16, 129, 8), 1024, 4 * LONGEST_START_BYTES)
REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
#: Of a class of signs, the first ones of these that it has stand for all.
SIGNS = "a1.:,= /-+;|\t\n"


def _files() -> Iterator[tuple[str, Path]]:
    """Yield the name and file of each module with expressions; none is imported yet, which takes seconds for all."""
    for package in PACKAGES:
        specification = importlib.util.find_spec(package)
        assert specification is not None
        for folder in map(Path, specification.submodule_search_locations or ()):
            yield from _files_below(folder, package)
    yield from _files_below(DASHBOARDS, "")


def _files_below(folder: Path, package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(part for part in (package, *parts) if part not in ("", "__init__"))
        # A program does something when it is imported.
        is_read = not name.endswith(".__main__") and not name.startswith(READ_NO_INPUT)
        if is_read and EXPRESSION.search(path.read_text()):
            yield name, path


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<expression>", "eval"), names)


def _expressions_in(source: str, names: dict[str, Any]) -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """Yield the constants of a module that are expressions, and the expressions in calls, with what uses each."""
    for node in ast.walk(ast.parse(source)):
        try:
            match node:
                case ast.Assign([ast.Name(name)], ast.expr() as value) | ast.AnnAssign(
                    ast.Name(name), value=ast.expr() as value
                ) if ast.unparse(value).startswith("re.compile("):
                    pattern = _value(value, names)
                    uses = set(re.findall(rf"\b{name}\.({'|'.join(USES)})\(", source))
                    # One that is used by another name, as of a list, is held against a whole text.
                    for use in sorted(uses or {"fullmatch"}):
                        yield name, pattern, use
                case ast.Call(ast.Attribute(ast.Name("re"), use), [written, *_]) if use in USES:
                    flags = [item.value for item in node.keywords if item.arg == "flags"] or node.args[USES[use] :]
                    pattern = re.compile(_value(written, names), *(_value(flag, names) for flag in flags))
                    yield f"line {node.lineno}", pattern, use
        except NameError:
            # It is made of what a function was given.
            continue


def _literals(parsed: Any) -> Iterator[str]:
    """Return the texts that stand as they are in an expression, of all its depths."""
    text = ""
    for operation, argument in parsed:
        if operation is _constants.LITERAL:
            text += chr(argument)
            continue
        yield text
        text = ""
        inner = argument if isinstance(argument, (tuple, list)) else (argument,)
        for part in inner:
            for one in part if isinstance(part, list) else (part,):
                if isinstance(one, _parser.SubPattern):
                    yield from _literals(one)
    yield text


def _example(parsed: Any, variant: int) -> str:
    """Return a text that an expression takes; variants differ in signs, branches and numbers of repetitions."""
    text = ""
    for operation, argument in parsed:
        if operation is _constants.LITERAL:
            text += chr(argument)
        elif operation in (_constants.ANY, _constants.IN, _constants.NOT_LITERAL):
            one = _compiler.compile(_parser.SubPattern(_parser.State(), [(operation, argument)]))
            signs = [sign for sign in SIGNS if one.match(sign)] or [""]
            text += signs[min(variant, len(signs) - 1)]
        elif operation is _constants.BRANCH:
            text += _example(argument[1][variant % len(argument[1])], variant)
        elif operation is _constants.SUBPATTERN:
            text += _example(argument[-1], variant)
        elif operation in REPEATS:
            least, most, repeated = argument
            text += _example(repeated, variant) * min(most, max(least, variant))
    return text


def _repeats(parsed: Any, before: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Yield a text that leads to each repeat of an expression, of all its depths, and the expression from there on."""
    items = list(parsed)
    for index, (operation, argument) in enumerate(items):
        inner: list[Any] = []
        if operation in REPEATS:
            yield before, items[index:]
            inner = [argument[2]]
        elif operation is _constants.BRANCH:
            inner = argument[1]
        elif operation in (_constants.SUBPATTERN, _constants.ASSERT):
            inner = [argument[-1]]
        for one in inner:
            yield from _repeats(one, before)
        before += _example([(operation, argument)], 0)


def _runs(pattern: re.Pattern[bytes]) -> set[tuple[str, str]]:
    """Return what leads to each repeat of an expression, and what it takes there, to be written again and again.

    It is that of the repeat alone, or with some of what follows: between two repeats there may be what both take.
    """
    parsed = _parser.parse(pattern.pattern.decode("latin-1"))
    return {
        (before, part)
        for before, items in _repeats(parsed)
        for taken in range(1, min(len(items), 4) + 1)
        for variant in range(4)
        if (part := _example(items[:taken], variant))
    }


def _slow_run(pattern: re.Pattern[bytes]) -> tuple[str, str] | None:
    for before, part in _runs(pattern):
        for length in LENGTHS:
            text = (before + part * length)[: length + len(before)] + "\0"
            if _seconds(pattern, "search", text) > MOST_S:
                return before, part
    return None


def _seconds(pattern: re.Pattern[Any], use: str, text: str) -> float:
    subject = text if isinstance(pattern.pattern, str) else text.encode("latin-1")
    started = time.thread_time()
    replacement = (subject[:0],) if use == "sub" else ()
    matches = getattr(pattern, use)(*replacement, subject)
    if use == "finditer":
        list(matches)
    return time.thread_time() - started


def _growth(pattern: re.Pattern[Any], use: str) -> str | None:
    """Return a text that takes more than in proportion to its length, or None."""
    written = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    literals = list(dict.fromkeys(text for text in _literals(_parser.parse(written)) if text))
    repeated = [*literals, "".join(literals) or "-", " ", "1", "a", "1.", "1,", "a:", "a ", ") - "]
    for begun in ("", *literals[:1]):
        for part in repeated:
            once, twice, eightfold = (begun + part * (times * CHARACTERS // len(part)) + "\0" for times in (1, 2, 8))
            taken = _seconds(pattern, use, once)
            if taken <= LEAST_S:
                continue
            # A machine that others use lengthens single measurements, not all of them. Twice the text takes twice the
            # time, and four times if each character is read again for each; eight times the text takes 8 or 64 times.
            taken = max(min(taken, _seconds(pattern, use, once)), LEAST_S)
            doubled = min(_seconds(pattern, use, twice) for _ in range(3))
            if taken > MOST_S or (doubled > 3 * taken and _seconds(pattern, use, eightfold) > 24 * taken):
                return f"{begun!r}, then {part!r} again and again: {taken:.2f} s"
    return None


@pytest.mark.parametrize(("module", "path"), [pytest.param(*file, id=file[0]) for file in _files()])
def test_expressions_take_time_in_proportion_to_the_text(module: str, path: Path) -> None:
    names = {"re": re} if path.is_relative_to(DASHBOARDS) else vars(importlib.import_module(module))
    expressions = _expressions_in(path.read_text(), names)
    slow = {f"{name}, {use}": growth for name, pattern, use in expressions if (growth := _growth(pattern, use))}
    assert slow == {}


def test_the_start_of_a_text_is_looked_at_in_no_time() -> None:
    for pattern, _ in TEXTS:
        literals = [text for text in _literals(_parser.parse(pattern.pattern.decode("latin-1"))) if text]
        for part in (*literals, "".join(literals), " ", "\n", "1", "a", "1 ", "1.", "a\n"):
            for begun in ("", literals[0]):
                text = (begun + part * LONGEST_START_BYTES)[:LONGEST_START_BYTES]
                assert _seconds(pattern, "search", text) < MOST_S, (pattern, begun, part)


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_runs_of_what_a_beginning_repeats_are_looked_at_in_no_time(number: int) -> None:
    assert _slow_run(TEXTS[number][0]) is None


@pytest.mark.parametrize(
    "written",
    [
        rb"\A[a-z_]+(?:,\w+=[^,\s]+)+ (?:\w+=[^,\s]+,?)+ \d{19}$",
        rb"\A(?:[\da-f:]{0,37}::[\da-f:]{0,37})(?:,(?:[\da-f:]{0,37}::[\da-f:]{0,37}))*\t",
        rb"\A(?:-\d+\n)*\d{1,2} (?:\?\?\?|\S*[.:]\S*(?: [\d.:a-f]+)? \d+)$",
    ],
    ids=["fields that need no comma", "addresses with :: anywhere", "a point anywhere"],
)
def test_a_beginning_that_is_read_in_many_ways_is_found(written: bytes) -> None:
    assert _slow_run(re.compile(written, re.MULTILINE)) is not None


def test_an_expression_that_reads_again_is_found() -> None:
    # As the log of wget was once read.
    assert _growth(re.compile(rb"\) - .* saved \["), "search") is not None


def test_a_line_of_wget_that_begins_to_end_again_and_again_is_read_once() -> None:
    def seconds(times: int) -> float:
        started = time.thread_time()
        assert not wget_log._is_saved(b") - " * times)
        return time.thread_time() - started

    assert seconds(100_000) < 1
    assert wget_log._is_saved(b"2026-11-20 10:00:00 (1.2 MB/s) - \xe2\x80\x98x\xe2\x80\x99 saved [123/123]\n")
