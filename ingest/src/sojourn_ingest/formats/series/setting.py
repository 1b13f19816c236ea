"""What a title or a file's name says of a run's setting.

Titles are written by people and scripts. Read are words of the form ``key:value`` or ``key=value`` (flent's batch files
write ``qdisc:codel rep:01 rtt:10ms rate:10Mbit/10Mbit cc:bbr ecn:noecn``), and, where no key says it, the name of a
queue discipline that stands as a word of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

#: Disciplines by their kernel names (tc(8)); dualpi2 and cake come as modules of their own too.
DISCIPLINES = frozenset({
    "bfifo", "cake", "codel", "dualpi2", "fq", "fq_codel", "fq_pie", "htb", "pfifo", "pfifo_fast", "pie", "red", "sfb",
    "sfq", "tbf",
})  # fmt: skip
#: Other spellings of them.
SPELLINGS = {"fqcodel": "fq_codel", "fq-codel": "fq_codel", "fqpie": "fq_pie", "fq-pie": "fq_pie", "fifo": "pfifo",
             "droptail": "pfifo", "taildrop": "pfifo", "tail-drop": "pfifo", "dual-pi2": "dualpi2"}  # fmt: skip
#: What studies call a discipline whose kernel name says how it counts its limit.
AQM_NAMES = {"bfifo": "tail-drop", "pfifo": "tail-drop", "pfifo_fast": "tail-drop"}
UNKNOWN = "unknown"

KEYS = {
    "qdisc": "discipline", "aqm": "discipline", "queue": "discipline", "discipline": "discipline",
    "rtt": "rtt", "delay": "rtt",
    "rate": "rate", "bw": "rate", "bandwidth": "rate", "speed": "rate",
    "cc": "congestion_control", "tcp": "congestion_control", "congestion_control": "congestion_control",
    "rep": "repetition", "repetition": "repetition", "run": "repetition", "iteration": "repetition",
}  # fmt: skip

PAIR = re.compile(r"(?:^|(?<=[\s,;]))([A-Za-z_]\w*)[:=]([^\s,;]+)")
RATE = re.compile(r"^(\d+(?:\.\d+)?)\s*([kKmMgG]?)(?:i?bit|bps|b)?(?:/s|ps)?$")
TIME = re.compile(r"^(\d+(?:\.\d+)?)\s*(us|ms|s)$")
REPETITION = re.compile(r"^\d{1,9}$")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z][A-Za-z0-9]*)*")
SCALE = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
SCALE_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass
class Setting:
    """A run's setting as far as it is known; ``more`` are keys that have no column."""

    discipline: str | None = None
    rtt_ms: float | None = None
    #: Rate of the way down and of the way up.
    rates_bps: tuple[int | None, int | None] = (None, None)
    congestion_control: str | None = None
    repetition: int | None = None
    more: dict[str, str] = field(default_factory=dict)
    #: A title without any pair, which then tells settings apart as it is.
    label: str | None = None

    @property
    def aqm(self) -> str:
        """The discipline's name in studies."""
        return AQM_NAMES.get(self.discipline or UNKNOWN, self.discipline or UNKNOWN)

    def bandwidth_bps(self, direction: str | None) -> int | None:
        """Return the rate in the run's direction; without one, the rate of both ways where they are equal."""
        down, up = self.rates_bps
        if direction is not None:
            return down if direction == "downlink" else up
        return down if down == up else None


def rate_bps(text: str) -> int | None:
    """Return a rate such as ``10Mbit`` in bit/s; None for what is not one."""
    match = RATE.match(text)
    if match is None:
        return None
    value = float(match[1]) * SCALE[match[2].lower()]
    # Compared first: of more digits than a double has there is no whole number.
    return round(value) if value < 2**53 and round(value) > 0 else None


def time_ms(text: str) -> float | None:
    """Return a time such as ``50ms`` in ms; None for what is not one."""
    match = TIME.match(text)
    if match is None:
        return None
    value = float(match[1]) * SCALE_MS[match[2]]
    return value if value < 2**53 else None


def discipline_named(text: str) -> str | None:
    """Return the queue discipline that a text names as a word of its own; None for none and for several."""
    names = set()
    for word in WORD.findall(text):
        # A file name joins its words with the characters that stand in disciplines' names too.
        parts = re.split(r"[_-]", word.lower())
        place = 0
        while place < len(parts):
            for length in (2, 1):
                name = "_".join(parts[place : place + length])
                name = SPELLINGS.get(name, SPELLINGS.get(name.replace("_", "-"), name))
                if name in DISCIPLINES:
                    names.add(name)
                    place += length - 1
                    break
            place += 1
    # A shaper is named beside the queue that stands in it.
    return names.pop() if len(names) == 1 else None


def setting_of(title: str, file_name: str = "") -> Setting:
    """Return what a title says of a setting, and where it names no discipline, what the file's name does."""
    setting = Setting()
    for key, value in PAIR.findall(title):
        column = KEYS.get(key.lower())
        if not _take(setting, column, value):
            setting.more[key.lower()] = value
    rest = PAIR.sub(" ", title)
    if setting.discipline is None:
        setting.discipline = discipline_named(rest) or discipline_named(file_name)
    setting.label = " ".join(rest.split()) or None
    return setting


def _take(setting: Setting, column: str | None, value: str) -> bool:
    """Take the value of a known key; return whether it could be read."""
    if column == "discipline":
        setting.discipline = SPELLINGS.get(value.lower(), value.lower())
    elif column == "rtt":
        setting.rtt_ms = time_ms(value)
        return setting.rtt_ms is not None
    elif column == "rate":
        rates = [rate_bps(part) for part in value.split("/")]
        if len(rates) not in (1, 2) or None in rates:
            return False
        setting.rates_bps = (rates[0], rates[-1])
    elif column == "congestion_control":
        setting.congestion_control = value.lower()
    elif column == "repetition" and REPETITION.match(value):
        setting.repetition = int(value) if int(value) < 2**31 else None
        return setting.repetition is not None
    else:
        return False
    return True
