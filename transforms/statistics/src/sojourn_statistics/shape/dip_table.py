"""Simulates the null distribution of the dip, `dip_quantiles.json`.

``python -m sojourn_statistics.shape.dip_table FILE`` writes it; a few minutes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from sojourn_statistics.samples.arrays import generator
from sojourn_statistics.shape.normality_and_modes import dip_statistic

SIZES = (4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 75, 100, 150, 200, 350, 500, 1000, 2000)
PROBABILITIES = (
    0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.98, 0.99, 0.995,
    0.998, 0.999, 0.9995,
)  # fmt: skip
SIMULATIONS = 30_000


def quantiles(n: int, simulations: int = SIMULATIONS) -> list[float]:
    """Return the quantiles of sqrt(n) dip at `PROBABILITIES`, for samples of n uniform values."""
    random = generator(n)
    dips = [dip_statistic(random.random(n)) for _ in range(simulations)]
    return [round(float(value), 6) for value in np.sqrt(n) * np.quantile(dips, PROBABILITIES)]


def main() -> int:
    """Write the table."""
    head = {
        "made_by": "python -m sojourn_statistics.shape.dip_table",
        "simulations": SIMULATIONS,
        "n": list(SIZES),
        "probabilities": list(PROBABILITIES),
    }
    rows = ",\n  ".join(json.dumps(quantiles(n)) for n in SIZES)
    opening = json.dumps(head, indent=1)[:-2]
    Path(sys.argv[1]).write_text(f'{opening},\n "sqrt_n_dip": [\n  {rows}\n ]\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
