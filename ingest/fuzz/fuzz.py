"""Run one fuzz target with Atheris, or write the seeds of all; ``run.sh`` calls it.

``fuzz.py --seeds FOLDER`` writes the seeds and the dictionary. ``fuzz.py TARGET …`` takes libFuzzer's arguments.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path


def write_seeds(folder: Path) -> None:
    """Write the seeds of each target into a folder of its name, and print the names."""
    import parsers

    with parsers.memory_folder() as memory:
        for name, target in parsers.fuzzed(Path(memory)).items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            for content in target.seeds:
                (folder / name / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
            print(name)
    (folder / "tokens.dict").write_text(parsers.dictionary())


def fuzz(name: str, arguments: list[str]) -> None:
    """Run a target until libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["sojourn_ingest", "sojourn_snapshot"], enable_loader_override=False):
        import parsers

    with parsers.memory_folder() as memory:
        target = parsers.fuzzed(Path(memory))[name]

        def one(content: bytes) -> None:
            try:
                target.attempt(content)
            except BaseException:
                # libFuzzer writes it too, but its alarm may end the process while Python is shut down.
                (Path("artifacts") / name / f"failed-{hashlib.sha256(content).hexdigest()[:16]}").write_bytes(content)
                raise

        atheris.Setup([sys.argv[0], *arguments], one)
        atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "--seeds":
        write_seeds(Path(sys.argv[2]))
    else:
        fuzz(sys.argv[1], sys.argv[2:])
