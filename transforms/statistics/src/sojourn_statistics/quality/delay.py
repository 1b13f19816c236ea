"""Classes of delay."""

from __future__ import annotations

from typing import Final

#: Greatest one-way delay in ms of each class but the last (ITU-T G.114).
G114_CLASSES: Final = (("acceptable", 150.0), ("problematic", 400.0))
#: Delay in ms, added under load, below which each grade but the last is given (DSLReports, LibreQoS).
BUFFERBLOAT_GRADES: Final = (("A+", 5.0), ("A", 30.0), ("B", 60.0), ("C", 200.0), ("D", 400.0))


def g114_class(one_way_delay_ms: float) -> str:
    """Class of a one-way delay: acceptable up to 150 ms, problematic up to 400 ms, else bad (ITU-T G.114, IMC'14 §6).

    Raises
    ------
    ValueError
        The delay is negative or not a number.
    """
    if not one_way_delay_ms >= 0:
        raise ValueError(f"the one-way delay is {one_way_delay_ms} ms; expected 0 or more")
    return next((name for name, most in G114_CLASSES if one_way_delay_ms <= most), "bad")


def bufferbloat_grade(added_delay_ms: float) -> str:
    """Grade of the delay that load adds: below 5 ms A+, 30 A, 60 B, 200 C, 400 D, else F (DSLReports, LibreQoS).

    A load that adds nothing, or less than nothing, is A+.

    Raises
    ------
    ValueError
        The delay is not a number.
    """
    if added_delay_ms != added_delay_ms:
        raise ValueError("the added delay is not a number; leave out what was not measured")
    return next((name for name, below in BUFFERBLOAT_GRADES if added_delay_ms < below), "F")
