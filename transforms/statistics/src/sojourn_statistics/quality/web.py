"""Web: page load times to MOS, and what a page load time consists of."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

WORST_MS: Final = 6000.0
"""Page load time of MOS 1 (IMC'14 §9)."""
ACCESS_LEAST_MS: Final = 560.0
"""Page load time of MOS 5 in IMC'14's access testbed."""
BACKBONE_LEAST_MS: Final = 850.0
"""Page load time of MOS 5 in IMC'14's backbone testbed."""
ROUND_TRIPS_OF_PAGE: Final = 14
"""Round trips of IMC'14's page."""


def mos_of_page_load_time(page_load_time_ms: ArrayLike, least_ms: float, worst_ms: float = WORST_MS) -> FloatArray:
    """MOS of a page load (mapping `plt-g1030-one-page`).

    Parameters
    ----------
    page_load_time_ms
        Time from the request to the complete page, in ms; above 0.
    least_ms
        Page load time of MOS 5: 560 ms (access), 850 ms (backbone), or the configuration's own least without load.
    worst_ms
        Page load time of MOS 1; 6 s.

    Returns
    -------
    numpy.ndarray
        clamp(5 - 4 ln(PLT / least) / ln(worst / least), 1, 5).

    Raises
    ------
    ValueError
        A time is not positive, or `least_ms` does not lie between 0 and `worst_ms`.

    Notes
    -----
    IMC'14 §9, after ITU-T G.1030 Annex A: opinion is logarithmic in the time. Of people who load one page of
    text and pictures.
    """
    time = np.asarray(page_load_time_ms, dtype=np.float64)
    if np.any(~(time > 0)):
        raise ValueError("a page load time is not positive; HAR writes -1 where a page did not load")
    if not 0 < least_ms < worst_ms:
        raise ValueError(f"the least page load time is {least_ms} ms; expected more than 0 and less than {worst_ms} ms")
    return np.asarray(np.clip(5 - 4 * np.log(time / least_ms) / np.log(worst_ms / least_ms), 1, 5), dtype=np.float64)


def class_of_mos(mos: ArrayLike) -> NDArray[np.int64]:
    """Class of a page load's MOS: floor(MOS), 5 only at 5.

    Inferred from what IMC'14 calls 1.3 s (fair, MOS 3.58) and 3.8 s (bad, MOS 1.77); rounding contradicts both.
    """
    return np.floor(np.asarray(mos, dtype=np.float64)).astype(np.int64)


def round_trip_share(
    page_load_time_ms: ArrayLike, rtt_ms: ArrayLike, round_trips: int = ROUND_TRIPS_OF_PAGE
) -> FloatArray:
    """Share of a page load time that its round trips take.

    Parameters
    ----------
    page_load_time_ms, rtt_ms
        Time of a load and the RTT measured in that load, in ms.
    round_trips
        Round trips of the page; 14 for IMC'14's.

    Returns
    -------
    numpy.ndarray
        round_trips RTT / PLT. A load is dominated by its round trips from 0.5 on (ours), below it by losses
        and the rate.
    """
    time = np.asarray(page_load_time_ms, dtype=np.float64)
    return np.asarray(round_trips * np.asarray(rtt_ms, dtype=np.float64) / time, dtype=np.float64)
