"""Run one fuzz target with Atheris, or write the seeds of all; ``run.sh`` calls it.

``fuzz.py --seeds FOLDER`` writes the seeds and the dictionary. ``fuzz.py TARGET …`` takes libFuzzer's arguments.
``fuzz.py --again TARGET FILE`` tries one content many times without Atheris.
"""

from __future__ import annotations

import faulthandler
import hashlib
import sys
from pathlib import Path

#: How often a content that crashed the process is tried again.
AGAIN = 200


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


#: A crash in compiled code is told by Python, which names the line that called it; libFuzzer knows no Python.
LEFT_TO_PYTHON = [f"-handle_{signal}=0" for signal in ("segv", "abrt", "bus", "ill", "fpe")]


def fuzz(name: str, arguments: list[str]) -> None:
    """Run a target until libFuzzer ends it; ``artifacts/TARGET/last`` holds what it tried when it crashed."""
    import atheris

    with atheris.instrument_imports(include=["sojourn_ingest", "sojourn_snapshot"], enable_loader_override=False):
        import parsers

    with parsers.memory_folder() as memory:
        target = parsers.fuzzed(Path(memory))[name]
        last = Path(memory) / "last"
        (Path("artifacts") / name / "last").unlink(missing_ok=True)
        (Path("artifacts") / name / "last").symlink_to(last)

        def one(content: bytes) -> None:
            last.write_bytes(content)
            try:
                target.attempt(content)
            except BaseException:
                # libFuzzer writes it too, but its alarm may end the process while Python is shut down.
                (Path("artifacts") / name / f"failed-{hashlib.sha256(content).hexdigest()[:16]}").write_bytes(content)
                raise

        faulthandler.enable()
        atheris.Setup([sys.argv[0], *arguments, *LEFT_TO_PYTHON], one)
        atheris.Fuzz()


def again(name: str, file: Path) -> None:
    """Try a content without instrumentation, several times: a fault between threads does not show each time."""
    import parsers

    faulthandler.enable()
    with parsers.memory_folder() as memory:
        target = parsers.fuzzed(Path(memory))[name]
        for _ in range(AGAIN):
            target.attempt(file.read_bytes())
    print(f"{file}: tried {AGAIN} times without Atheris, and read or refused each time")


if __name__ == "__main__":
    if sys.argv[1] == "--seeds":
        write_seeds(Path(sys.argv[2]))
    elif sys.argv[1] == "--again":
        again(sys.argv[2], Path(sys.argv[3]))
    else:
        fuzz(sys.argv[1], sys.argv[2:])
