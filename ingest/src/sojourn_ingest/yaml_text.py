"""YAML of descriptions, manifests and rules."""

from __future__ import annotations

from typing import Any

import yaml

from sojourn_ingest.formats.content.text_encoding import utf8_of

#: libyaml's parser, where PyYAML was built with it: the same documents and errors, ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: Values that a document may stand for once its aliases are put in, and how deep they may be nested.
MOST_VALUES = 1_000_000
MOST_DEPTH = 100
#: Form of a whole number, and its most characters: a table of keys takes the square of their number if their remainders
#: by 2^61 - 1 are the same, and in 64 bits a handful are.
_INTEGER = dict(yaml.SafeLoader.yaml_implicit_resolvers["1"])["tag:yaml.org,2002:int"]
LONGEST_INTEGER = 20
#: Characters of other numbers: in base 60, as 1:30:00, it takes the square of its length to read one.
LONGEST_NUMBER = 1_000


def _refuse_explosion(text: bytes | str) -> None:
    """Go on if a document is of a size that a person would write, counted by its events: nothing is built for it."""
    sizes: dict[str, int] = {}
    # Of each collection that is open: its anchor, and how many values it has so far.
    open_values: list[list[int]] = [[0]]
    anchors: list[str | None] = []
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.events.CollectionStartEvent):
            open_values.append([1])
            anchors.append(event.anchor)
            if len(anchors) > MOST_DEPTH:
                raise yaml.YAMLError(f"nested more than {MOST_DEPTH} levels deep; reduce the nesting")
            continue
        if isinstance(event, yaml.events.CollectionEndEvent):
            (count,) = open_values.pop()
            anchor = anchors.pop()
        elif isinstance(event, yaml.events.AliasEvent):
            count, anchor = sizes.get(str(event.anchor), 1), None
        elif isinstance(event, yaml.events.ScalarEvent):
            _refuse_long_number(event)
            count, anchor = 1, event.anchor
        else:
            continue
        if anchor is not None:
            sizes[anchor] = count
        open_values[-1][0] += count
        if open_values[-1][0] > MOST_VALUES:
            raise yaml.YAMLError(f"its aliases expand to more than {MOST_VALUES:,} values; use fewer aliases")


def _refuse_long_number(scalar: yaml.ScalarEvent) -> None:
    is_text = scalar.tag in ("!", "tag:yaml.org,2002:str") or not (scalar.tag or scalar.implicit[0])
    is_integer = scalar.tag == "tag:yaml.org,2002:int" or _INTEGER.match(scalar.value)
    # A tag has any text read as a number, also one with blanks.
    is_number = scalar.tag or (":" in scalar.value and not scalar.value.strip("0123456789:_.+-"))
    longest = LONGEST_INTEGER if is_integer else LONGEST_NUMBER
    if len(scalar.value) > longest and not is_text and (is_integer or is_number):
        raise yaml.YAMLError(f"a number has more than {longest:,} characters; write texts in quotes")


def load_yaml(text: bytes | str) -> Any:
    """Return the document; plain values only, as with yaml.safe_load.

    Raises
    ------
    yaml.YAMLError
        If it is not YAML, or its aliases stand for far more than was written, or it is nested too deeply, or a value
        is none of its type, such as the date 2026-13-45, ``!!bool maybe`` and a number of 5,000 digits.
    """
    text = utf8_of(text) if isinstance(text, bytes) else text
    _refuse_explosion(text)
    try:
        return yaml.load(text, Loader=_LOADER)  # noqa: S506, the loader is a safe one
    except (ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise yaml.YAMLError(f"a value does not have its type ({str(error)[:80]}); write texts in quotes") from error
