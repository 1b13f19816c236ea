"""YAML of descriptions, manifests and rules."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import yaml

from sojourn_ingest.formats.content.text_encoding import utf8_of

#: Values of a document once its aliases are put in, and how deep they may be nested. One that is none of its type takes
#: a kilobyte, for its message.
MOST_VALUES = 500_000
MOST_DEPTH = 100
#: Characters of a number: in base 60, as 1:30:00, it takes the square of its length to read one.
LONGEST_NUMBER = 1_000
#: Keys of a mapping that are not texts: numbers can be chosen so that Python takes quadratic time for them.
MOST_OTHER_KEYS = 100
#: Directives (`%TAG`) at most: libyaml compares each with all before it.
MOST_DIRECTIVES = 10
_DIRECTIVE = re.compile(r"(?:^|[\n\r\x85\u2028\u2029])\ufeff?%")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # whichever there is
    """libyaml's parser, where PyYAML was built with it: the same documents and errors, ten times as fast."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put the keys of merged mappings in; raises yaml.YAMLError if too many keys are not texts."""
        # Before, for keys that merge, and after, for those that are merged.
        self._refuse_other_keys(node)
        super().flatten_mapping(node)
        self._refuse_other_keys(node)

    @staticmethod
    def _refuse_other_keys(node: yaml.MappingNode) -> None:
        if sum(key.tag != "tag:yaml.org,2002:str" for key, _ in node.value) > MOST_OTHER_KEYS:
            raise yaml.YAMLError(f"a mapping has more than {MOST_OTHER_KEYS} keys that are not texts; quote them")


def refuse_many_values(content: Any) -> None:
    """Go on if a document that was read otherwise, such as JSON, has few enough values.

    Raises
    ------
    ValueError
        If it has more than `MOST_VALUES`.
    """
    values, unread = 0, [content]
    while unread:
        value = unread.pop()
        values += 1
        if isinstance(value, list | dict):
            # As in YAML, keys are values too.
            values += len(value) if isinstance(value, dict) else 0
            unread.extend(value.values() if isinstance(value, dict) else value)
        if values > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES:,} values")


def _refuse_explosion(text: bytes | str) -> None:
    """Go on if a document is of a size that a person would write, counted by its events: nothing is built for it."""
    seen = text if isinstance(text, str) else text.decode(errors="replace")
    if next(islice(_DIRECTIVE.finditer(seen), MOST_DIRECTIVES, None), None):
        raise yaml.YAMLError(f"more than {MOST_DIRECTIVES} directives (lines that begin with %)")
    sizes: dict[str, int] = {}
    # Of each collection that is open: its anchor, and how many values it has so far.
    open_values: list[list[int]] = [[0]]
    anchors: list[str | None] = []
    for event in yaml.parse(text, Loader=_Loader):
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
            raise yaml.YAMLError(f"more than {MOST_VALUES:,} values, with what its aliases expand to")


def _refuse_long_number(scalar: yaml.ScalarEvent) -> None:
    # A tag has any text read as a number, also one with blanks.
    is_tagged = scalar.tag not in (None, "!", "tag:yaml.org,2002:str")
    is_number = scalar.implicit[0] and ":" in scalar.value and not scalar.value.strip("0123456789:_.+-")
    if len(scalar.value) > LONGEST_NUMBER and (is_tagged or is_number):
        raise yaml.YAMLError(f"a number has more than {LONGEST_NUMBER:,} characters; write texts in quotes")


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
        return yaml.load(text, Loader=_Loader)  # noqa: S506, the loader is a safe one
    except (ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise yaml.YAMLError(f"a value does not have its type ({str(error)[:80]}); write texts in quotes") from error
