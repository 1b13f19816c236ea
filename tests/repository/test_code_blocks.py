"""Every code block of every document is checked: commands and options exist, and each language can be parsed.

What a block does is tested where its page is run: tutorials in tests/integration/test_tutorials.py, studies in
test_add_a_study.py, addresses of other tools in test_other_tools.py, curl in api/tests.
"""

from __future__ import annotations

import ast
import csv
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
import typer
import yaml

from sojourn_ingest.cli import application

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
#: What is shown, and not given to a machine. The page on other tools says when its R and TypeScript were run.
SHOWN = {"", "text", "r", "ts"}
#: Words that stand in front of a command.
BEFORE = re.compile(r"^(?:[A-Z_]+=\S*|sudo|time|nohup|nice|exec)$")
COMMAND_END = re.compile(r"^(?:\||\|\||&&|;|&)$")
REDIRECTION = re.compile(r"^\d?(?:>|>>|<|<<<|>&)\d?$")


@dataclass(frozen=True)
class Block:
    """One code block of a document."""

    name: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}:{self.line}"


def blocks() -> list[Block]:
    """Return the code blocks of all documents of the repository."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [
        Block(name, text.count("\n", 0, fence.start()) + 1, fence["language"].split(" ")[0], fence["text"])
        for name in listed.split("\n")
        if name
        for text in [(ROOT / name).read_text(encoding="utf-8")]
        for fence in FENCE.finditer(text)
    ]


BLOCKS = blocks()


def commands(text: str) -> Iterator[list[str]]:
    """Yield the simple commands of a shell text as words, without comments and redirections."""
    joined = re.sub(r"\\\n", " ", text)
    joined = re.sub(r"<<-?'?(\w+)'?.*?\n\1\n", "\n", joined, flags=re.DOTALL)
    joined = re.sub(r"\$\(([^()]*)\)", r"X ; \1 ; ", joined)
    for line in joined.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>()")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            # A quotation over several lines belongs to a programme such as python -c, not to this one.
            continue
        command: list[str] = []
        skips = False
        for word in words:
            if COMMAND_END.match(word) or word in "()":
                yield command
                command = []
            elif REDIRECTION.match(word):
                skips = True
            elif skips:
                skips = False
            elif command or not BEFORE.match(word):
                command.append(word)
        yield command


def wrong_use(command: click.Command, words: list[str], path: str = "sojourn") -> str | None:
    """Return what a command line has that the command does not know; None if there is nothing."""
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    options |= {"--help", "--version"}
    if isinstance(command, click.Group):
        rest = [word for word in words if not word.startswith("-")]
        if not rest:
            return None
        subcommand = command.get_command(click.Context(command), rest[0])
        if subcommand is None:
            return f"{path} has no command {rest[0]}"
        return wrong_use(subcommand, words[words.index(rest[0]) + 1 :], f"{path} {rest[0]}")
    for word in words:
        if word.startswith("-") and len(word) > 1 and word.split("=")[0] not in options:
            return f"{path} has no option {word}"
    return None


def of_language(*languages: str) -> list[Block]:
    """Return the blocks of some languages."""
    return [block for block in BLOCKS if block.language in languages]


@pytest.fixture(scope="module")
def sojourn() -> click.Command:
    """The command line as it is installed."""
    app: Any = application()
    return typer.main.get_command(app) if isinstance(app, typer.Typer) else app


def test_there_are_blocks_and_each_is_of_a_language_that_is_checked_or_only_shown() -> None:
    assert len(BLOCKS) > 100
    unknown = [str(block) for block in BLOCKS if block.language not in {*SHOWN, "sh", *PARSERS}]
    assert unknown == []


@pytest.mark.parametrize("block", of_language("sh"), ids=str)
def test_every_shell_block_can_be_parsed_and_names_commands_and_options_that_exist(
    block: Block, sojourn: click.Command
) -> None:
    bash = shutil.which("bash")
    assert bash
    # <folder> stands for what the reader puts in.
    plain = re.sub(r"<[A-Za-z][^<>\n]*>", "PLACEHOLDER", block.text)
    parsed = subprocess.run([bash, "-n"], input=plain, capture_output=True, text=True, check=False)
    assert parsed.returncode == 0, parsed.stderr
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wrong = []
    for words in commands(plain):
        name = Path(words[0]).name if words else ""
        if name == "sojourn":
            wrong.append(wrong_use(sojourn, words[1:]))
        elif name == "make":
            wrong += [
                f"no target {word}"
                for word in words[1:]
                if re.match(r"^[a-z][a-z0-9-]*$", word) and word not in targets
            ]
    assert [text for text in wrong if text] == []


DATASET = re.compile(r"/v1/datasets/([a-z0-9_]+)\b")


def test_every_dataset_that_a_block_asks_for_exists() -> None:
    served = {path.stem for path in (ROOT / "models" / "marts").rglob("*.sql")}
    tables = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    served |= set(re.findall(r"^\| `([a-z0-9_]+)` \|", tables, re.MULTILINE))
    named = {(name, str(block)) for block in BLOCKS for name in DATASET.findall(block.text)}
    assert len(named) > 20
    assert sorted(one for one in named if one[0] not in served) == []


def _json(text: str) -> None:
    # An ellipsis outside of texts stands for further members, and a member alone is without its object.
    text = re.sub(r"(?:,\s*)?…(?=\s*[\]}])", "", text)
    json.loads(text if text.lstrip()[:1] in "[{" else f"{{{text}}}")


def _sql(text: str) -> None:
    if not duckdb.extract_statements(text):
        raise ValueError("no statement")


def _csv(text: str) -> None:
    delimiter = ";" if ";" in text.splitlines()[0] else ","
    widths = {len(row) for row in csv.reader(text.splitlines(), delimiter=delimiter)}
    if len(widths) != 1:
        raise ValueError(f"rows of {widths} columns")


PARSERS: dict[str, Callable[[str], object]] = {
    "python": ast.parse, "json": _json, "yaml": yaml.safe_load, "sql": _sql, "csv": _csv,
}  # fmt: skip


@pytest.mark.parametrize("block", of_language(*PARSERS), ids=str)
def test_every_other_block_can_be_parsed(block: Block) -> None:
    PARSERS[block.language](block.text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sojourn lok a.pcap", "sojourn has no command lok"),
        ("cat a | sojourn look --jsn -", "sojourn look has no option --jsn"),
        ("SOJOURN_VAR=x .venv/bin/sojourn ingest --fastest a > b", "sojourn ingest has no option --fastest"),
        ("sojourn look a.pcap --json > b", None),
    ],
)
def test_a_wrong_command_is_found(text: str, message: str | None, sojourn: click.Command) -> None:
    messages = [wrong_use(sojourn, words[1:]) for words in commands(text) if words and words[0].endswith("sojourn")]
    assert messages == [message]
