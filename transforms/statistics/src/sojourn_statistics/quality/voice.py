"""Voice: the E-model, PESQ, and the two models of a call that are built on them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

DEFAULT_RATING: Final = 93.2
"""R with every parameter at its default (ITU-T G.107 §7.7)."""

LARGEST_IMPAIRMENT: Final = 95.0
"""Where the effective equipment impairment tends to as loss grows (ITU-T G.107 §7.5)."""


class DelayOf(StrEnum):
    """Which one-way delay a listening score meets. The study joins both directions and does not say how: ours."""

    MEAN_OF_BOTH = "mean_of_both"
    OWN = "own"
    SUM = "sum"


class SpeechBand(StrEnum):
    """Which P.862 mapping a MOS-LQO comes from."""

    NARROW = "narrow"
    WIDE = "wide"


#: Slope and intercept of the logistic function: ITU-T P.862.1 and P.862.2.
_LOGISTIC: Final = {SpeechBand.NARROW: (1.4945, 4.6607), SpeechBand.WIDE: (1.3669, 3.8224)}


def delay_impairment(one_way_delay_ms: ArrayLike, *, sensitivity: float = 1.0, least_ms: float = 100.0) -> FloatArray:
    """Impairment by absolute delay, Idd.

    Parameters
    ----------
    one_way_delay_ms
        Ta, mouth to ear, any shape, in ms; at least 0.
    sensitivity
        sT, 1 by default.
    least_ms
        mT, the least delay that is noticed, 100 ms by default.

    Returns
    -------
    numpy.ndarray
        Idd on the scale of R, of the same shape; 0 up to `least_ms`. Not a number where the delay is.

    Raises
    ------
    ValueError
        A delay is negative.

    Notes
    -----
    ITU-T G.107 §7.4. Editions without sT and mT give the same values. Echo is taken to be cancelled perfectly.
    """
    delay = np.asarray(one_way_delay_ms, dtype=np.float64)
    if np.any(delay < 0):
        raise ValueError("a one-way delay is negative; expected milliseconds from mouth to ear")
    doublings = np.log2(np.maximum(delay, least_ms) / least_ms)
    power = 6 * sensitivity
    near = (1 + doublings**power) ** (1 / power)
    far = (1 + (doublings / 3) ** power) ** (1 / power)
    return np.asarray(25 * (near - 3 * far + 2), dtype=np.float64)


def effective_equipment_impairment(
    loss_ratio: ArrayLike, burst_ratio: ArrayLike = 1.0, *, equipment: float, robustness: float
) -> FloatArray:
    """Impairment by the codec under packet loss, Ie,eff.

    Parameters
    ----------
    loss_ratio
        Share of packets that are not played, 0 to 1. The formula's Ppl is this in percent.
    burst_ratio
        BurstR: mean length of runs of losses over that of random loss. Below 1 counts as 1.
    equipment
        Ie of the codec; 0 for G.711.
    robustness
        Bpl of the codec; 4.3 for G.711 without and 25.1 with concealment.

    Returns
    -------
    numpy.ndarray
        Ie,eff on the scale of R.

    Raises
    ------
    ValueError
        A loss ratio lies outside 0 to 1.

    Notes
    -----
    ITU-T G.107 §7.5, values of codecs in G.113 Appendix I. The Recommendation gives Ppl up to 20 % and BurstR from 1
    to 2 as the range of its parameters: what lies beyond is extrapolated. That losses which are spread more evenly than
    random ones (BurstR below 1) count as random is ours.
    """
    loss = np.asarray(loss_ratio, dtype=np.float64)
    if np.any((loss < 0) | (loss > 1)):
        raise ValueError("a loss ratio lies outside 0 to 1; expected a share of packets, not percent")
    percent = loss * 100
    burst = np.maximum(np.asarray(burst_ratio, dtype=np.float64), 1.0)
    grown = percent / (percent / burst + robustness)
    return np.asarray(equipment + (LARGEST_IMPAIRMENT - equipment) * grown, dtype=np.float64)


def mos_of_rating(rating: ArrayLike) -> FloatArray:
    """MOS of a transmission rating R.

    Parameters
    ----------
    rating
        R, any shape.

    Returns
    -------
    numpy.ndarray
        MOS, 1 to 4.5.

    Notes
    -----
    ITU-T G.107 Annex B. Between R = 0 and 6.5 its polynomial falls a little below 1, which is not on the scale: it is 1
    there.
    """
    value = np.clip(np.asarray(rating, dtype=np.float64), 0, 100)
    mos = 1 + 0.035 * value + value * (value - 60) * (100 - value) * 7e-6
    return np.asarray(np.maximum(mos, 1.0), dtype=np.float64)


def mos_lqo_of_pesq(pesq: ArrayLike, band: SpeechBand = SpeechBand.NARROW) -> FloatArray:
    """MOS-LQO of a raw PESQ score.

    Parameters
    ----------
    pesq
        Raw score of P.862, -0.5 to 4.5.
    band
        Narrow band (P.862.1) or wide band (P.862.2).

    Returns
    -------
    numpy.ndarray
        MOS-LQO, above 0.999 and below 4.999.

    Raises
    ------
    ValueError
        A score lies outside PESQ's scale; -1 is what tools write where they failed.
    """
    score = _pesq(pesq)
    slope, intercept = _LOGISTIC[band]
    return np.asarray(0.999 + 4 / (1 + np.exp(-slope * score + intercept)), dtype=np.float64)


def pesq_of_mos_lqo(mos_lqo: ArrayLike, band: SpeechBand = SpeechBand.NARROW) -> FloatArray:
    """Raw PESQ score of a MOS-LQO: the inverse of P.862.1 or P.862.2.

    Parameters
    ----------
    mos_lqo
        MOS-LQO of PESQ, not of another model: a score of ViSQOL or POLQA does not belong here.
    band
        Which mapping the MOS-LQO came from.

    Returns
    -------
    numpy.ndarray
        Raw score of P.862.

    Raises
    ------
    ValueError
        A MOS-LQO lies outside the open interval from 0.999 to 4.999.
    """
    mos = np.asarray(mos_lqo, dtype=np.float64)
    if np.any((mos <= 0.999) | (mos >= 4.999)):
        raise ValueError("a MOS-LQO lies outside 0.999 to 4.999, which no PESQ score gives")
    slope, intercept = _LOGISTIC[band]
    return np.asarray((intercept - np.log(4 / (mos - 0.999) - 1)) / slope, dtype=np.float64)


def rating_of_pesq(pesq: ArrayLike) -> FloatArray:
    """Return the listening quality on the scale of R, z1 of IMC'14.

    Parameters
    ----------
    pesq
        Raw score of P.862, -0.5 to 4.5.

    Returns
    -------
    numpy.ndarray
        0 to 100.

    Raises
    ------
    ValueError
        A score lies outside PESQ's scale.

    Notes
    -----
    L. Sun and E. Ifeachor, IEEE Transactions on Multimedia 8(4), 2006; reference [41] of IMC'14. Fitted to
    MOS from 1 to 4.5.
    """
    score = _pesq(pesq)
    return np.asarray(np.clip(((3.026 * score - 25.314) * score + 87.06) * score - 57.336, 0, 100), dtype=np.float64)


def call_rating(pesq: ArrayLike, one_way_delay_ms: ArrayLike) -> FloatArray:
    """Quality of a call from its listening score and its delay, z of IMC'14 §7.1 (model `imc14-voip`).

    Parameters
    ----------
    pesq
        Raw score of P.862.
    one_way_delay_ms
        Ta in ms, broadcast against `pesq`; see `delay_of_both_directions`.

    Returns
    -------
    numpy.ndarray
        z = max(0, z1 - z2), 0 to 100; `mos_of_rating` gives its MOS.

    Raises
    ------
    ValueError
        A score lies outside PESQ's scale, or a delay is negative.

    Notes
    -----
    The paper names P.862.2 for the last step, whose input is not a rating of 0 to 100; G.107 Annex B fits the range
    and is taken.
    """
    return np.asarray(np.maximum(0, rating_of_pesq(pesq) - delay_impairment(one_way_delay_ms)), dtype=np.float64)


def delay_of_both_directions(
    own_ms: ArrayLike, other_ms: ArrayLike, delay_of: DelayOf = DelayOf.MEAN_OF_BOTH
) -> FloatArray:
    """One-way delay that a call's score meets, from those of both directions.

    Parameters
    ----------
    own_ms, other_ms
        One-way delay of the direction that is scored, and of the other, in ms.
    delay_of
        `mean_of_both` (half of the round trip; default), `own`, or `sum`.

    Returns
    -------
    numpy.ndarray
        Ta in ms.
    """
    own = np.asarray(own_ms, dtype=np.float64)
    other = np.asarray(other_ms, dtype=np.float64)
    match delay_of:
        case DelayOf.MEAN_OF_BOTH:
            return np.asarray((own + other) / 2, dtype=np.float64)
        case DelayOf.OWN:
            return own
        case DelayOf.SUM:
            return np.asarray(own + other, dtype=np.float64)


def network_rating(
    one_way_delay_ms: ArrayLike,
    loss_ratio: ArrayLike,
    burst_ratio: ArrayLike = 1.0,
    *,
    equipment: float = 0.0,
    robustness: float = 25.1,
) -> FloatArray:
    """Rating of a voice call of which only packets are known (model `g107-network`).

    Parameters
    ----------
    one_way_delay_ms
        Ta in ms.
    loss_ratio
        Share of packets lost or too late to be played, 0 to 1.
    burst_ratio
        BurstR.
    equipment, robustness
        Ie and Bpl of the codec; the defaults are G.711 with concealment.

    Returns
    -------
    numpy.ndarray
        R = 93.2 - Idd - Ie,eff. It may be negative; `mos_of_rating` gives 1 there.

    Raises
    ------
    ValueError
        A delay is negative, or a loss ratio lies outside 0 to 1.

    Notes
    -----
    ITU-T G.107 with every other parameter at its default: no echo, no noise, no jitter that the buffer does not take.
    """
    impairment = effective_equipment_impairment(loss_ratio, burst_ratio, equipment=equipment, robustness=robustness)
    return np.asarray(DEFAULT_RATING - delay_impairment(one_way_delay_ms) - impairment, dtype=np.float64)


def _pesq(pesq: ArrayLike) -> FloatArray:
    score = np.asarray(pesq, dtype=np.float64)
    if np.any((score < -0.5) | (score > 4.5)):
        raise ValueError("a PESQ score lies outside -0.5 to 4.5; a tool that failed writes -1")
    return score
