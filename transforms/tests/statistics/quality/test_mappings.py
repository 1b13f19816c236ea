"""Every mapping gives the figures that its source, or the study that uses it, states, to the printed digit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn_statistics.quality import delay, playout, video, voice, web


@pytest.mark.parametrize(
    ("one_way_delay_ms", "impairment"),
    [
        (150, 0.164),
        (200, 3.044),
        (250, 8.917),
        (300, 14.761),
        (400, 24.070),
        (500, 30.636),
        (1000, 43.790),
        (3000, 48.956),
    ],
)
def test_impairment_by_delay(one_way_delay_ms: float, impairment: float) -> None:
    assert round(float(voice.delay_impairment(one_way_delay_ms)), 3) == impairment


def test_delay_up_to_100_ms_impairs_nothing_and_a_negative_one_is_refused() -> None:
    assert voice.delay_impairment([0, 50, 100]).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="negative"):
        voice.delay_impairment(-1)


@pytest.mark.parametrize(
    ("rating", "mos"), [(50, 2.575), (60, 3.100), (70, 3.597), (80, 4.024), (90, 4.339), (93.2, 4.409)]
)
def test_mos_of_a_rating(rating: float, mos: float) -> None:
    assert round(float(voice.mos_of_rating(rating)), 3) == mos


def test_mos_of_a_rating_stays_on_its_scale() -> None:
    ratings = np.linspace(-50, 150, 2001)
    mos = voice.mos_of_rating(ratings)
    assert mos.min() == 1
    assert mos.max() == 4.5
    assert np.all(np.diff(mos) >= 0)


def test_every_default_gives_93_2() -> None:
    assert float(voice.network_rating(0, 0)) == pytest.approx(93.2, abs=1e-12)


@pytest.mark.parametrize(
    ("band", "figures"),
    [
        (voice.SpeechBand.NARROW, (1.1608, 1.6318, 2.8223, 4.1539, 4.5486)),
        (voice.SpeechBand.WIDE, (1.3151, 2.0065, 3.2755, 4.3520, 4.6439)),
    ],
)
def test_mos_lqo_of_pesq_and_back(band: voice.SpeechBand, figures: tuple[float, ...]) -> None:
    scores = np.array([1, 2, 3, 4, 4.5])
    mos = voice.mos_lqo_of_pesq(scores, band)
    assert tuple(np.round(mos, 4)) == figures
    assert voice.pesq_of_mos_lqo(mos, band) == pytest.approx(scores, abs=1e-9)


def test_listening_rating_of_pesq() -> None:
    assert np.round(voice.rating_of_pesq([2, 3, 4]), 3).tolist() == [39.736, 57.720, 79.544]


@pytest.mark.parametrize(
    ("pesq", "one_way_delay_ms", "mos"),
    [(4.2, 25, 4.228), (4.2, 250, 3.908), (4.2, 400, 3.198), (4.2, 1608, 2.001), (3.0, 25, 2.981), (2.0, 800, 1)],
)
def test_call_of_the_study(pesq: float, one_way_delay_ms: float, mos: float) -> None:
    assert round(float(voice.mos_of_rating(voice.call_rating(pesq, one_way_delay_ms))), 3) == mos


def test_delay_joins_both_directions_by_half_of_the_round_trip_unless_told_otherwise() -> None:
    assert float(voice.delay_of_both_directions(30, 800)) == 415
    assert float(voice.delay_of_both_directions(30, 800, voice.DelayOf.OWN)) == 30
    assert float(voice.delay_of_both_directions(30, 800, voice.DelayOf.SUM)) == 830


@pytest.mark.parametrize("pesq", [-1, 4.6])
def test_a_failed_pesq_is_refused(pesq: float) -> None:
    with pytest.raises(ValueError, match=r"-0\.5 to 4\.5"):
        voice.call_rating(pesq, 25)


def test_a_mos_lqo_that_no_pesq_gives_is_refused() -> None:
    with pytest.raises(ValueError, match=r"4\.999"):
        voice.pesq_of_mos_lqo(5.0)


def test_loss_impairs_more_in_bursts_and_less_with_concealment() -> None:
    # By hand: 2 % of G.711 without concealment, 95 * 2 / (2 + 4.3); in bursts twice as long, 95 * 2 / (1 + 4.3).
    plain = voice.effective_equipment_impairment(0.02, 1, equipment=0, robustness=4.3)
    bursts = voice.effective_equipment_impairment(0.02, 2, equipment=0, robustness=4.3)
    concealed = voice.effective_equipment_impairment(0.02, 1, equipment=0, robustness=25.1)
    assert [round(float(value), 4) for value in (plain, bursts, concealed)] == [30.1587, 35.8491, 7.0111]
    with pytest.raises(ValueError, match="percent"):
        voice.effective_equipment_impairment(2, 1, equipment=0, robustness=4.3)


def test_burst_ratio_is_1_for_single_losses_and_grows_with_runs() -> None:
    # 10 of 100 packets in 2 runs: 5 packets a run against 1 / 0.9 of random loss.
    assert playout.burst_ratio(100, 10, 2) == pytest.approx(4.5)
    assert playout.burst_ratio(100, 10, 10) == 1
    assert playout.burst_ratio(100, 0, 0) == playout.burst_ratio(100, 100, 1) == 1


def test_burst_ratio_of_random_loss_is_near_1() -> None:
    lost = np.random.default_rng(7).random(200_000) < 0.1
    runs = int((lost & ~np.concatenate(([False], lost[:-1]))).sum())
    assert playout.burst_ratio(lost.size, int(lost.sum()), runs) == pytest.approx(1, abs=0.02)


def test_buffer_follows_the_least_delay_of_each_span() -> None:
    delay_ms = np.array([10, 70, 70.1, math.nan, 200, 259, 261, math.nan, math.nan])
    span = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    played = playout.playout(delay_ms, span)
    # 70.1 and 261 are later than 10 and 200 by more than 60; with the loss after each, and the last, two runs.
    assert (played.packets, played.lost_packets, played.discarded_packets, played.loss_runs) == (9, 3, 2, 2)
    assert played.delay_ms == pytest.approx((10 + 70 + 200 + 259) / 4)
    assert played.unplayed_ratio == pytest.approx(5 / 9)
    assert playout.playout(np.array([math.nan]), np.array([0])).delay_ms is None
    with pytest.raises(ValueError, match="one span for each packet"):
        playout.playout(delay_ms, span[:3])


def test_video_steps_include_their_bounds() -> None:
    assert video.mos_of_ssim([1, 0.99, 0.98999, 0.95, 0.88, 0.5, 0.49999, -1]).tolist() == [5, 5, 4, 4, 3, 2, 1, 1]
    assert video.mos_of_psnr([math.inf, 45, 33, 27.4, 18.7, 18.6, 0]).tolist() == [5, 5, 4, 3, 2, 1, 1]
    for refused in ([1.01], [math.nan]):
        with pytest.raises(ValueError):
            video.mos_of_ssim(refused)
    with pytest.raises(ValueError, match="decibels"):
        video.mos_of_psnr(-1)


@pytest.mark.parametrize(
    ("least_ms", "figures"),
    [
        (web.ACCESS_LEAST_MS, {1000: 4.022, 1300: 3.580, 2000: 2.853, 3800: 1.770}),
        (web.BACKBONE_LEAST_MS, {1000: 4.667, 2000: 3.249}),
    ],
)
def test_page_load_times(least_ms: float, figures: dict[int, float]) -> None:
    for time, mos in figures.items():
        assert round(float(web.mos_of_page_load_time(time, least_ms)), 3) == mos


def test_page_load_times_outside_the_scale_and_below_0() -> None:
    assert web.mos_of_page_load_time([100, 560, 6000, 60_000], 560).tolist() == [5, 5, 1, 1]
    for time in (0, -1, math.nan):
        with pytest.raises(ValueError, match="not positive"):
            web.mos_of_page_load_time(time, 560)
    with pytest.raises(ValueError, match="least page load time"):
        web.mos_of_page_load_time(1000, 7000)


def test_what_the_study_calls_fair_and_bad_is_so() -> None:
    mos = web.mos_of_page_load_time([1300, 3800, 560], web.ACCESS_LEAST_MS)
    assert web.class_of_mos(mos).tolist() == [3, 1, 5]


def test_round_trips_of_a_load() -> None:
    # 14 round trips of 50 ms are 0.7 s.
    assert float(web.round_trip_share(1400, 50)) == 0.5


def test_classes_of_delay() -> None:
    assert [delay.g114_class(ms) for ms in (0, 150, 150.1, 400, 400.1)] == [
        "acceptable", "acceptable", "problematic", "problematic", "bad"
    ]  # fmt: skip
    with pytest.raises(ValueError):
        delay.g114_class(-1)


def test_bufferbloat_grades() -> None:
    assert [delay.bufferbloat_grade(ms) for ms in (-2, 4.9, 5, 29, 30, 59, 60, 199, 200, 399, 400)] == [
        "A+", "A+", "A", "A", "B", "B", "C", "C", "D", "D", "F"
    ]  # fmt: skip
    with pytest.raises(ValueError):
        delay.bufferbloat_grade(math.nan)
