"""Bounds on what Superset parses: SQL, forms, Markdown, times and coordinates in words, and imported archives."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from types import SimpleNamespace
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import yaml
from markupsafe import Markup
from sqlglot import Expression, Parser, Tokenizer, TokenType
from sqlglot.errors import ParseError
from sqlglot.expressions import CTE, Subquery, Table
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

LONGEST_SQL = 2**17
"""Characters of SQL that are parsed; the worst take 2 s and 70 MB, five times over as Superset handles a request."""
MOST_STEPS = 100_000
"""Steps of the parser that types within types may take; twelve of them, as in DATE(DATE(…)), are parsed."""
DEEPEST = 40
MOST_SOURCES = 1_000
"""Tables, subqueries and common table expressions of a statement: sqlglot compares the name of each with all others."""
LARGEST_WITHOUT_FILE_BYTES = 2 * 2**20
"""Of a request without a file. A form takes 80 times as much memory; lists load all texts that were kept."""
LONGEST_MARKDOWN = 5_000
"""Characters of a description that are parsed; more are shown as they are."""
MOST_MARKS = {"[": 50, "<": 50, "\\": 200, "`": 400, "\n": 400, "\r": 400}
"""Of each kind in such a description: each is looked for in the rest of the text, and a list of charts has the
descriptions of all."""
MOST_BLANKS = 50
"""Of those in a row in such a description, further ones are left out: an expression for code takes their square."""
NESTED_IN_A_LINE = re.compile(r"^(?: *(?:>|(?:[-+*]|\d+\.) )){10}", re.MULTILINE)
"""A line of ten lists or quotes within one another, in such a description: each is parsed by a call within a call."""
DESCRIPTIONS_KEPT = 1_000
"""Descriptions of which the HTML is kept: a list has the same ones each time."""
LONGEST_IN_WORDS = 60
"""Characters of a time or of coordinates, blanks in a row as one. Their parsers take seconds for 100, hours for 250."""
LARGEST_IMPORT_BYTES = 4 * 2**20
"""Plain size of the files of an import; an export of everything has 1.3 MB. The worst YAML takes 2 s a MB."""
DEEPEST_YAML = 100
MOST_VALUES = 200_000
"""Values of a YAML file: each takes some hundred bytes and microseconds, and two characters of the file."""
LONGEST_NUMBER = 1_000
"""Characters of a number in YAML: in base 60, as 1:30:00, it takes the square of its length to read one."""
MOST_OTHER_KEYS = 100
"""Keys of a YAML mapping that are not texts: numbers can be chosen so that Python takes quadratic time for them."""
MOST_DIRECTIVES = 10
"""Directives (`%TAG`) of a YAML file: libyaml compares each with all before it."""
DIRECTIVE = re.compile(r"(?:^|[\n\r\x85\u2028\u2029])\ufeff?%")


class Loader(yaml.CSafeLoader):
    """The loader in C, which takes a fifth of the time of the other."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put the keys of merged mappings in; raises yaml.YAMLError if too many keys are not texts."""
        # Before, for keys that merge, and after, for those that are merged.
        self._refuse_other_keys(node)
        super().flatten_mapping(node)
        self._refuse_other_keys(node)

    @staticmethod
    def _refuse_other_keys(node: yaml.MappingNode) -> None:
        if sum(key.tag != "tag:yaml.org,2002:str" for key, _ in node.value) > MOST_OTHER_KEYS:
            raise yaml.YAMLError(f"a mapping has more than {MOST_OTHER_KEYS} keys that are not texts")


def bound_parsing() -> None:
    """Refuse SQL, forms, YAML, archives, times and coordinates that take too much time or memory for their length.

    Imports in Superset's earlier format, which say no version, are refused: they are read elsewhere, without a bound.
    """
    # Superset's own modules can be imported only now that it is configured.
    from superset.commands.chart.exceptions import TimeRangeParseFailError
    from superset.commands.dashboard.importers import dispatcher as dashboards
    from superset.commands.dataset.importers import dispatcher as datasets
    from superset.commands.exceptions import CommandInvalidError
    from superset.commands.importers.v1 import utils
    from superset.utils import core

    parse, tokenize, check_zip = Parser._parse, Tokenizer.tokenize, utils.check_is_safe_zip
    as_html, parse_markdown = core.markdown, core.md.markdown
    parse_form = FormDataParser._parse_urlencoded

    def bounded_parse(parser: Any, parse_method: Any, raw_tokens: Any, sql: Any = None) -> Any:
        _refuse_nested_types(parser.TYPE_TOKENS, raw_tokens)
        parsed = parse(parser, parse_method, raw_tokens, sql)
        if len(raw_tokens) > MOST_SOURCES:
            _refuse_many_sources(parsed)
        return parsed

    def bounded_tokenize(tokenizer: Any, sql: str) -> Any:
        _refuse_long_sql(sql)
        return tokenize(tokenizer, sql)

    def bounded_form(forms: Any, stream: Any, mimetype: str, length: int | None, options: dict[str, str]) -> Any:
        if (length or 0) > LARGEST_WITHOUT_FILE_BYTES:
            raise RequestEntityTooLarge(f"a form has at most {LARGEST_WITHOUT_FILE_BYTES:,} bytes")
        return parse_form(forms, stream, mimetype, length, options)

    def bounded_zip(archive: ZipFile) -> None:
        members = archive.infolist()
        # Other kinds are unpacked as a whole, whatever size the archive says that they have.
        if not all(member.compress_type in (ZIP_STORED, ZIP_DEFLATED) for member in members):
            raise CommandInvalidError("an import is a zip archive with plain or deflated files; pack it again")
        if sum(member.file_size for member in members) > LARGEST_IMPORT_BYTES:
            raise CommandInvalidError(f"an import has at most {LARGEST_IMPORT_BYTES:,} bytes; import its files apart")
        check_zip(archive)

    def bounded_markdown(raw: str, markup_wrap: bool | None = False) -> str:
        html = bounded_html(raw, as_html)
        return Markup(html) if markup_wrap else html  # noqa: S704, Superset has made it safe, or it is escaped

    bound_words(TimeRangeParseFailError)
    # Without this, it looks for the language of each indented block by expressions that take quadratic time.
    without_colours = {"markdown.extensions.codehilite": {"use_pygments": False}}
    core.md = SimpleNamespace(markdown=functools.partial(parse_markdown, extension_configs=without_colours))
    core.markdown = bounded_markdown
    Parser._parse = bounded_parse  # type: ignore[assignment, method-assign]
    Tokenizer.tokenize = bounded_tokenize  # type: ignore[assignment, method-assign]
    FormDataParser._parse_urlencoded = bounded_form  # type: ignore[assignment, method-assign]
    utils.check_is_safe_zip = bounded_zip
    utils.yaml = SimpleNamespace(safe_load=load_yaml, parser=yaml.parser, YAMLError=yaml.YAMLError)
    del dashboards.command_versions[1:], datasets.command_versions[1:]


def bounded_html(raw: str, as_html: Callable[[str], str]) -> str:
    """Return a description as HTML; as it is, if it is too long, or nested too deeply for Markdown."""
    if len(raw) <= LONGEST_MARKDOWN and all(raw.count(each) <= most for each, most in MOST_MARKS.items()):
        return _html_of_short(raw, as_html)
    return str(Markup.escape(raw))


@functools.lru_cache(DESCRIPTIONS_KEPT)
def _html_of_short(raw: str, as_html: Callable[[str], str]) -> str:
    # What Markdown itself does first: afterwards, other blanks would be in a row.
    plain = raw.replace("\x02", "").replace("\x03", "").expandtabs(4)
    if not NESTED_IN_A_LINE.search(plain):
        # Lists are also nested line by line.
        with suppress(RecursionError):
            return as_html(re.sub(rf" {{{MOST_BLANKS},}}", " " * MOST_BLANKS, plain))
    return str(Markup.escape(raw))


def bound_words(error: type[Exception]) -> None:
    """Refuse times in words, with an error of Superset's, and coordinates that are longer than `LONGEST_IN_WORDS`."""
    from geopy.point import Point
    from parsedatetime import Calendar

    parse_time, parse_point = Calendar.parse, Point.from_string

    def bounded_time(calendar: Any, text: str, *arguments: Any, **named: Any) -> Any:
        return parse_time(calendar, _short(text, error), *arguments, **named)

    Calendar.parse = bounded_time
    Point.from_string = staticmethod(lambda text: parse_point(_short(text, ValueError)))


def _short(text: str, error: type[Exception]) -> str:
    """Return a text with blanks in a row as one; raises the error for a long one."""
    text = " ".join(text.split())
    if len(text) > LONGEST_IN_WORDS:
        raise error(f"{text[:20]}…, {len(text):,} characters; write at most {LONGEST_IN_WORDS}")
    return text


def _refuse_long_sql(sql: str) -> None:
    """Raise ParseError for SQL that is too long."""
    if len(sql) > LONGEST_SQL:
        raise ParseError(f"SQL has at most {LONGEST_SQL:,} characters")


def _refuse_many_sources(parsed: list[Expression | None]) -> None:
    """Raise ParseError for a statement that selects from too many tables."""
    for statement in parsed:
        sources = statement.find_all(Table, Subquery, CTE) if statement else ()
        if next(islice(sources, MOST_SOURCES, None), None) is not None:
            raise ParseError(
                f"a statement has at most {MOST_SOURCES:,} tables, subqueries and common table expressions"
            )


def _refuse_nested_types(types: Any, tokens: Any) -> None:
    """Raise ParseError for SQL of too many types within types: sqlglot 28.10 parses what each holds twice."""
    steps = depth = 0
    is_type: list[bool] = []
    before = None
    for token in tokens:
        if token.token_type == TokenType.L_PAREN:
            is_type.append(before in types)
            depth += is_type[-1]
        elif token.token_type == TokenType.R_PAREN and is_type:
            depth -= is_type.pop()
        before = token.token_type
        steps += 2 ** min(depth, DEEPEST) - 1
        if steps > MOST_STEPS:
            raise ParseError("types are nested too deeply")


def load_yaml(content: str) -> Any:
    """Return the content of a document.

    Raises
    ------
    yaml.parser.ParserError
        If it cannot be read, is longer than `LARGEST_IMPORT_BYTES`, nested deeper than `DEEPEST_YAML`, has more than
        `MOST_VALUES`, or has aliases, with which a few lines stand for gigabytes, or a number longer than
        `LONGEST_NUMBER`.
    """
    try:
        _refuse_large_yaml(content)
        return yaml.load(content, Loader)  # noqa: S506, the loader is a safe one
    except yaml.parser.ParserError:
        raise
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise yaml.parser.ParserError(None, None, str(error), None) from error


def _refuse_large_yaml(content: str) -> None:
    fault = "too long" if len(content) > LARGEST_IMPORT_BYTES else ""
    if next(islice(DIRECTIVE.finditer(content), MOST_DIRECTIVES, None), None):
        fault = "too many directives"
    events = iter(()) if fault else yaml.parse(content, yaml.CSafeLoader)
    depth = values = 0
    for each in events:
        values += isinstance(each, yaml.ScalarEvent | yaml.CollectionStartEvent)
        depth += isinstance(each, yaml.CollectionStartEvent) - isinstance(each, yaml.CollectionEndEvent)
        if depth > DEEPEST_YAML:
            # The loader would overflow the stack.
            fault = "nested too deeply"
        elif values > MOST_VALUES:
            fault = "too many values"
        elif isinstance(each, yaml.AliasEvent):
            fault = "an alias, which is not read"
        elif isinstance(each, yaml.ScalarEvent) and _is_long_number(each):
            fault = "a number that is too long"
        if fault:
            break
    if fault:
        raise yaml.parser.ParserError(None, None, fault, None)


def _is_long_number(scalar: yaml.ScalarEvent) -> bool:
    # A tag has any text read as a number, also one with blanks.
    is_tagged = scalar.tag not in (None, "!", "tag:yaml.org,2002:str")
    is_number = scalar.implicit[0] and ":" in scalar.value and not scalar.value.strip("0123456789:_.+-")
    return len(scalar.value) > LONGEST_NUMBER and bool(is_tagged or is_number)
