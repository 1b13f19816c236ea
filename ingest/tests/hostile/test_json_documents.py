"""Documents of JSON that take time or memory out of proportion to their length."""

from __future__ import annotations

import json
import random
import time
import tracemalloc

import pytest

from sojourn_ingest.formats.content import json_document
from sojourn_ingest.formats.content.json_document import parse_value
from sojourn_ingest.formats.interface import InputError


def test_a_text_without_an_end_is_gone_through_once() -> None:
    started = time.process_time()
    # What C prints for no number is looked for outside of texts.
    with pytest.raises(InputError, match="Unterminated string"):
        parse_value('{"a": nan, "b": "' + '\\"' * 1_000_000, "result")
    assert time.process_time() - started < 5


@pytest.mark.parametrize("values", ['{"":' * 50 + "1" + "}" * 50 + ",", "[],", "{},", "1,"])
def test_many_small_values_are_refused(monkeypatch: pytest.MonkeyPatch, values: str) -> None:
    monkeypatch.setattr(json_document, "LARGEST_IN_MEMORY", 2**20)
    monkeypatch.setattr(json_document, "_FEW_BYTES", 2**10)
    document = f'{{"a": [{values * (2**20 // 30)}0]}}'
    for text in (document, document.encode()):
        tracemalloc.start()
        with pytest.raises(InputError, match="it takes more than") as caught:
            parse_value(text, "result")
        assert caught.value.reason == "too_large"
        assert tracemalloc.get_traced_memory()[1] < 3 * len(text) + 64 * json_document._PIECE_BYTES
        tracemalloc.stop()
    # Within a text, signs are no values, also behind a sign that ends none.
    text = f'["\\\\\\" {values.replace(chr(34), "") * (2**18 // len(values))}"]'
    assert isinstance(parse_value(text, "result"), list)
    # Texts of any length, at any place of a piece.
    monkeypatch.setattr(json_document, "_PIECE_BYTES", 100)
    chance = random.Random(1)
    texts = ["".join(chance.choices('{[,\\"x', k=chance.randrange(250))) for _ in range(1_000)]
    without = b"".join(json_document._without_texts(json.dumps(texts).encode()))
    assert without == b"[" + b", ".join([b'""'] * 1_000) + b"]"


@pytest.mark.parametrize("text", ["a" * 2**19, "é" * 2**19, "\u20ac" * 2**18, "a" * 2**17 + "\U0001f600"])
@pytest.mark.parametrize("is_escaped", [True, False])
def test_characters_count_for_as_much_as_they_take(
    monkeypatch: pytest.MonkeyPatch, text: str, is_escaped: bool
) -> None:
    document = json.dumps([text], ensure_ascii=is_escaped).encode()
    tracemalloc.start()
    assert parse_value(document, "result") == [text]
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # As it is decoded, a document takes up to three times its bytes for a while, which is less than a bound on memory.
    assert taken < max(json_document._characters_bytes(document), 3 * len(document)) + 2**16
    monkeypatch.setattr(json_document, "_FEW_BYTES", 2**10)
    monkeypatch.setattr(json_document, "LARGEST_IN_MEMORY", json_document._characters_bytes(document) - 1)
    with pytest.raises(InputError, match="it takes more than"):
        parse_value(document, "result")


def test_what_c_prints_for_no_number_takes_no_further_copy() -> None:
    document = f'{{"a": nan, "b": "{"x" * 2**22}\U0001f600"}}'.encode()
    tracemalloc.start()
    parse_value(document, "result")
    # The document twice as bytes; as text, and its text, each with four bytes for a character.
    assert tracemalloc.get_traced_memory()[1] < 11 * len(document)
    tracemalloc.stop()
