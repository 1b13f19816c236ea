"""Video: full-reference metrics to MOS."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Least SSIM of MOS 5, 4, 3 and 2.
SSIM_STEPS: Final = (0.99, 0.95, 0.88, 0.5)
#: Least PSNR in dB of MOS 5, 4, 3 and 2.
PSNR_STEPS_DB: Final = (45.0, 33.0, 27.4, 18.7)


def mos_of_ssim(ssim: ArrayLike) -> NDArray[np.int64]:
    """MOS of a clip's mean SSIM (mapping `ssim-to-mos`).

    Parameters
    ----------
    ssim
        Mean over the frames of a clip, -1 to 1.

    Returns
    -------
    numpy.ndarray
        Whole numbers, 1 to 5.

    Raises
    ------
    ValueError
        A value lies outside -1 to 1.

    Notes
    -----
    T. Zinner et al., 2010; reference [49] of IMC'14. Of H.264 at the sizes of that study.
    """
    value = np.asarray(ssim, dtype=np.float64)
    if np.any((value < -1) | (value > 1)):
        raise ValueError("an SSIM lies outside -1 to 1; in decibels it is another metric")
    return _steps(value, SSIM_STEPS)


def mos_of_psnr(psnr_db: ArrayLike) -> NDArray[np.int64]:
    """MOS of a clip's mean PSNR (mapping `psnr-to-mos`).

    Parameters
    ----------
    psnr_db
        Mean over the frames of a clip, in dB; infinite where the clips are equal.

    Returns
    -------
    numpy.ndarray
        Whole numbers, 1 to 5.

    Raises
    ------
    ValueError
        A value is negative.

    Notes
    -----
    T. Zinner et al., 2010, as reported in later studies.
    """
    value = np.asarray(psnr_db, dtype=np.float64)
    if np.any(value < 0):
        raise ValueError("a PSNR is negative; expected decibels")
    return _steps(value, PSNR_STEPS_DB)


def _steps(value: NDArray[np.float64], least: tuple[float, ...]) -> NDArray[np.int64]:
    if np.isnan(value).any():
        raise ValueError("a score is not a number; leave out what was not measured")
    return np.asarray(1 + sum((value >= bound).astype(np.int64) for bound in least), dtype=np.int64)
