"""Every published file of the kinds that measurement tools leave behind is read, or refused for a stated reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from results import read

from sojourn_ingest.formats.interface import InputError

#: Folder of the reference data, ending of the files' names, reader.
KINDS = (
    ("tohojo__flent", (".flent", ".flent.gz"), "flent"),
    ("heistp__l4s-tests", (".json.gz",), "irtt"),
    ("quiclog__qvis", (".qlog",), "qlog"),
    ("Zoxc__crusader", (".crr",), "crusader"),
)
#: Reasons that tell a user of a file what is wrong with it.
REASONS = {"no_measurement", "corrupt_record", "unsupported_version", "compression", "unrecognised_format"}


@pytest.mark.integration
@pytest.mark.parametrize(("folder", "endings", "reader"), KINDS, ids=[kind[2] for kind in KINDS])
def test_published_files_are_read_or_refused_for_a_reason(
    shared: Path, folder: str, endings: tuple[str, ...], reader: str
) -> None:
    paths = [path for path in sorted((shared / "data" / "public" / folder).rglob("*")) if path.name.endswith(endings)]
    outcomes: Counter[str] = Counter()
    for path in paths:
        try:
            format_name, tables, reading = read(path)
        except InputError as error:
            outcomes[error.reason] += 1
        else:
            assert (format_name, bool(tables["series"]), reading.fault) == (reader, True, None), path
            outcomes["read"] += 1
    assert paths
    assert set(outcomes) <= {"read", *REASONS}
    assert outcomes["read"] >= 0.9 * len(paths), outcomes
