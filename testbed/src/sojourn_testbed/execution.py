"""Carrying out a plan: blocks in order, each run checked, kept or repeated, and noted."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock
from typing import Any

from pydantic import ValidationError

from sojourn_process.own_folder import own_folder
from sojourn_testbed.backend.backend import Backend
from sojourn_testbed.cells import Run, blocks
from sojourn_testbed.ledger import Attempt, Ledger
from sojourn_testbed.places import BINARY_LOG, TEXT_LOG
from sojourn_testbed.plan import Plan, PlanError
from sojourn_testbed.run_check import check_run
from sojourn_testbed.run_folder import Compression, keep_run
from sojourn_testbed.specification import queues_of
from sojourn_testbed.study import study_description

RECORD = "testbed.json"
#: A run whose check fails is tried so often; then it is kept, marked as excluded, with the reason.
TRIES = 2


@dataclass(frozen=True)
class Progress:
    """How far a plan is."""

    done: int
    of: int
    run_id: str
    complaints: tuple[str, ...]


def plan_record(plan: Plan, repetitions: int, backend: str) -> dict[str, Any]:
    """Return what must be the same for a study to be gone on with."""
    return {"plan": plan.model_dump(mode="json"), "repetitions": repetitions, "backend": backend}


def execute(
    plan: Plan,
    repetitions: int,
    backend: Backend,
    folder: Path,
    on_progress: Callable[[Progress], None],
    compression: Compression = "gzip",
    made_with: dict[str, Any] | None = None,
    guests: int = 1,
) -> None:
    """Carry out what of a plan is not done yet, ``guests`` blocks at a time.

    Raises
    ------
    PlanError
        If the folder holds another study, or another process works on it.
    BackendError
        If the backend cannot carry it out.
    """
    backend.check(plan)
    with _alone(folder):
        begin(plan, repetitions, backend.name, folder)
        _carry_out(plan, repetitions, backend, folder, on_progress, compression, made_with, guests)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder against a second process, whose first step would be to remove what this one has begun."""
    folder.mkdir(parents=True, exist_ok=True)
    # The folder itself is what is locked: the lock ends with the process and leaves no file among the results.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PlanError(f"another sojourn testbed run uses {folder}; wait for it, or stop it first") from error
        yield
    finally:
        os.close(descriptor)


def _carry_out(
    plan: Plan,
    repetitions: int,
    backend: Backend,
    folder: Path,
    on_progress: Callable[[Progress], None],
    compression: Compression,
    made_with: dict[str, Any] | None,
    guests: int,
) -> None:
    ledger = Ledger(folder)
    ordered = blocks(plan, repetitions)
    total = sum(map(len, ordered))
    noting = Lock()
    stopped = Event()

    def carry_out(mine: Path, block: list[Run]) -> None:
        begun = time.monotonic()

        def finish(run: Run, raw: Path) -> None:
            nonlocal begun
            check = check_run(raw, run.cell.set_queue.rate_bps, queues_of(run), plan.queue_log)
            seconds, begun = round(time.monotonic() - begun, 1), time.monotonic()
            last_try = ledger.failures(run.run_id) + 1 >= TRIES
            if check.complaints and not last_try:
                shutil.rmtree(raw)
            else:
                keep_run(plan, run, raw, folder / "runs" / run.run_id, check, made_with or {}, compression)
            with noting:
                kept = "kept" if last_try or not check.complaints else "failed"
                ledger.add(Attempt(run.run_id, kept, list(check.complaints), seconds))
                on_progress(Progress(len(ledger.kept()), total, run.run_id, check.complaints))

        while not stopped.is_set() and (waiting := [run for run in block if run.run_id not in ledger.kept()]):
            shutil.rmtree(mine, ignore_errors=True)
            begun = time.monotonic()
            try:
                backend.carry_out(plan, waiting, mine, finish)
            except BaseException:
                stopped.set()
                raise

    with own_folder(".scratch-", folder) as scratch, ThreadPoolExecutor(max_workers=guests) as pool:
        started = [
            pool.submit(carry_out, scratch / f"block{number}", block) for number, block in enumerate(ordered, start=1)
        ]
        try:
            for one in started:
                one.result()
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def begin(plan: Plan, repetitions: int, backend: str, folder: Path) -> None:
    """Make the study's folder, or find that it is the same study's."""
    record = plan_record(plan, repetitions, backend)
    path = folder / RECORD
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        # More repetitions of the same plan go on; anything else is another study. A plan that an earlier version noted
        # lacks keys that came since.
        with suppress(ValidationError, KeyError):
            before["plan"] = Plan.model_validate(before["plan"]).model_dump(mode="json")
        if before | {"repetitions": 0} != record | {"repetitions": 0}:
            raise PlanError(f"{folder} holds runs of another plan or backend; give another folder with --out")
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (folder / "study.yaml").write_text(study_description(plan), encoding="utf-8")


def digest(folder: Path) -> str:
    """Return a hash over the captures and queue logs of a study, for holding two of them against each other."""
    hasher = hashlib.sha256()
    for path in sorted((folder / "runs").rglob("*")):
        if path.name.startswith(("before.pcap", "after.pcap", TEXT_LOG, BINARY_LOG)):
            hasher.update(str(path.relative_to(folder)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return hasher.hexdigest()
