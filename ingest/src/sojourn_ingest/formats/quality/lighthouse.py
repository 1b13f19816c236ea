"""Results of Lighthouse: a page load, or the steps of a user flow.

The time is that which the browser observed, ``observedLoad`` of the audit ``metrics``. Lighthouse's other figures are
of a simulated network unless it throttles in the browser. Addresses and contents of pages are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sojourn_ingest.formats.content import json_document
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.quality.page_loads import METRIC, load_time_ms, loads_of_run
from sojourn_ingest.formats.quality.scores import Score

NAMES: Final = "Lighthouse"


class Lighthouse(Format):
    """The result of ``lighthouse --output=json``."""

    name = "lighthouse"
    without_facts = "Lighthouse's result without a page that loaded; run it again with --output=json"
    holds_addresses = False
    version = "lighthouse-3"

    def recognises(self, source: Source) -> bool:
        """Return whether the document says by which version it was written."""
        steps = source.object.get("steps")
        first = steps[0] if isinstance(steps, list) and steps else None
        result = first.get("lhr") if isinstance(first, dict) else source.object
        return isinstance(result, dict) and "lighthouseVersion" in result

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the load time of each page; a page that did not load is refused and counted.

        Raises
        ------
        InputError
            If the document is damaged or not a result.
        """
        content = json_document.read_object(source, NAMES, reading)
        steps = content.get("steps", [{"lhr": content}])
        if not isinstance(steps, list) or not steps:
            raise InputError("corrupt_record", f"{NAMES}: the result has no page; run it with --output=json", 0)

        def scores() -> Iterator[Score]:
            for number, step in enumerate(steps):
                try:
                    time = _load_ms(step.get("lhr") if isinstance(step, dict) else None)
                except ValueError as error:
                    reading.refuse(f"load: {error}")
                    continue
                reading.records_read += 1
                yield Score(METRIC, f"load/{number}", None, time)

        return loads_of_run(scores(), source, context)


def _load_ms(result: Any) -> float:
    """Return the observed time of a page load; ValueError if there is none."""
    if not isinstance(result, dict):
        raise ValueError("the step has no result")  # noqa: TRY004 - of the input, not of a caller
    if result.get("gatherMode", "navigation") != "navigation":
        raise ValueError("the step is not a page load")
    fault = result.get("runtimeError")
    if isinstance(fault, dict) and fault.get("code") not in (None, "NO_ERROR"):
        raise ValueError("the page did not load (Lighthouse's error)")
    observed: Any = result.get("audits")
    for name in ("metrics", "details", "items"):
        observed = observed.get(name) if isinstance(observed, dict) else None
    first = observed[0] if isinstance(observed, list) and observed else None
    return load_time_ms(first.get("observedLoad") if isinstance(first, dict) else None)
