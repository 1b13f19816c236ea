"""Hashes of the facts that each version of each reader decodes from a fixed set of inputs.

``python ingest/tests/decoded_facts.py`` writes golden/decoded_facts.json, with which a test compares what is decoded.
It refuses where facts changed and the version of their reader did not: equal versions promise equal facts, and what is
in a lake is not decoded a second time under the same one.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from decoded_inputs import WITH_PACKETS, write_inputs  # noqa: E402

from sojourn_ingest.addresses import Pseudonymiser  # noqa: E402
from sojourn_ingest.lake import Commit, Lake  # noqa: E402
from sojourn_ingest.session import IngestSession, files_below  # noqa: E402

GOLDEN = FOLDER / "golden" / "decoded_facts.json"
COMMAND = "python ingest/tests/decoded_facts.py"
RAISE = "raise the version"
#: What says of a fact where it was read, not what it is.
PROVENANCE = ("source_hash", "decoder_version")

#: By reader and input: the version, the hash of the input's content and, by table, those of the facts.
Decoded = dict[str, dict[str, dict[str, Any]]]


def decoded_facts(repository: Path, folder: Path) -> Decoded:
    """Decode all inputs, written below ``folder``, and return the hashes of what was decoded."""
    inputs = folder / "inputs"
    write_inputs(inputs, repository)
    decoded: Decoded = {}
    for packets in (False, True):
        lake = Lake(folder / f"lake-{packets}")
        wanted = [path for path in files_below([inputs]) if packets == (WITH_PACKETS in path.parts)]
        with lake.writing():
            IngestSession(lake, Pseudonymiser(b"golden"), packets=packets).run(wanted, lambda _: None)
        for commit in lake.live():
            if commit.format is not None and Path(commit.source_path).is_relative_to(inputs):
                reader = f"{commit.format}+packets" if packets else commit.format
                name = Path(commit.source_path).relative_to(inputs).as_posix()
                decoded.setdefault(reader, {})[name] = _facts_of(lake, commit)
    return decoded


def _facts_of(lake: Lake, commit: Commit) -> dict[str, Any]:
    facts = {}
    for file in commit.files:
        table = pq.read_table(lake.storage.local(lake.place_of(file)))
        if file.table == "ingest_outcome":
            # Of the outcome, what was read and refused; neither paths nor times nor the wording of messages.
            own = table.filter(pc.equal(table.column("source_path"), commit.source_path))
            table = own.select(["status", "records_read", "records_refused", "refused_by_reason", "reason"])
        facts[file.table] = _hash_of(table.drop_columns([name for name in PROVENANCE if name in table.column_names]))
    return {"version": commit.decoder_version, "content": _content_of(commit), "facts": dict(sorted(facts.items()))}


def _hash_of(table: Any) -> str:
    digest = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name)
        digest.update(json.dumps([name, str(column.type), column.to_pylist()]).encode())
    return digest.hexdigest()[:24]


def _content_of(commit: Commit) -> str:
    path = Path(commit.source_path)
    if path.suffix == ".parquet":
        # Its bytes differ with the release of the writer, its rows do not.
        return _hash_of(pq.read_table(path))
    return commit.content_hash[:24]


def problems(golden: Decoded, decoded: Decoded) -> list[str]:
    """Return what keeps the golden file from being what is decoded now, each with what to do."""
    lines = []
    for reader in sorted(golden.keys() | decoded.keys()):
        before, now = golden.get(reader, {}), decoded.get(reader, {})
        for name in sorted(before.keys() | now.keys()):
            problem = _problem(before.get(name), now.get(name))
            if problem is not None:
                lines.append(f"{reader}, {name}: {problem.format(reader=reader)}, then run {COMMAND}")
    return lines


def _problem(before: dict[str, Any] | None, now: dict[str, Any] | None) -> str | None:
    if before is None or now is None or before["content"] != now["content"]:
        return "the input is new, changed or gone; see that this is meant"
    if before["version"] != now["version"]:
        return f"the version is {now['version']}, and {before['version']} in {GOLDEN.name}; see that this is meant"
    tables = before["facts"].keys() | now["facts"].keys()
    changed = sorted(table for table in tables if before["facts"].get(table) != now["facts"].get(table))
    if not changed:
        return None
    return f"the facts in {', '.join(changed)} changed, and the version {now['version']} did not; {RAISE} of {{reader}}"


def is_forgotten_version(problem: str) -> bool:
    """Return whether a problem is that facts changed and a version did not."""
    return RAISE in problem


def main() -> int:
    """Write the golden file, unless a version has to be raised first."""
    with tempfile.TemporaryDirectory() as folder:
        decoded = decoded_facts(FOLDER.parents[1], Path(folder))
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    forgotten = [problem for problem in problems(golden, decoded) if is_forgotten_version(problem)]
    if forgotten:
        print("\n".join(forgotten), file=sys.stderr)
        return 1
    GOLDEN.write_text(json.dumps(decoded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{GOLDEN}: {len(decoded)} readers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
