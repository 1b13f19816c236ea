"""Where figures of the studies once differed from what the studies define, and the tests that hold each correction.

`docs/validation.md` shows this list; a test checks that every test named here exists.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """One deviation: what was drawn or computed, what is now, and the tests by name.

    A test is a dbt unit test, or a function of a Python test module.
    """

    number: int
    before: str
    now: str
    tests: tuple[str, ...]


DEVIATIONS = (
    Deviation(
        1,
        "a configuration left out the queue's limit in packets: 8 and 256 packets were repetitions of one",
        "`queue_limit_packets` is part of the configuration, a factor of comparisons, and in the label "
        "(tail-drop 64 packets)",
        (
            "queues_of_8_and_256_packets_are_two_configurations_and_old_names_stay",
            "queue_label_names_discipline_and_size",
            "test_quantile_shifts_show_where_two_modes_lie",
        ),
    ),
    Deviation(
        2,
        "TMA'23 Figure 5 was harm at 10 BDP",
        "queuing delay at 2 BDP; harm at 10 BDP is named as no figure of the study",
        ("test_tma23_figure_5_is_queuing_delay_at_2_bdp",),
    ),
    Deviation(
        3,
        "of several scores of one run one was kept, and the rest not counted",
        "scores are of items; frames become one value of their item, true duplicates are counted, and a run's value is "
        "the median over its items with their number",
        (
            "frames_become_one_value_of_their_item_and_other_scores_stay_apart",
            "true_duplicates_of_a_score_are_left_out_and_counted",
            "score_finds_its_run_by_name_then_by_session_then_by_most_of_its_time",
        ),
    ),
    Deviation(
        4,
        "IMC'21 figures drew runs in which TCP started first",
        "the application is the incumbent: runs in which it started first",
        ("test_imc21_figures_have_the_application_as_incumbent",),
    ),
    Deviation(
        5,
        "PAM'21 Figure 2 was of two flows, received, without a step",
        "one flow alone, its send rate before the bottleneck, with the rate of the link in force; "
        "without a run that has a programme there is no Figure 2",
        ("test_pam21_figure_2_is_the_send_rate_of_one_flow_alone",),
    ),
    Deviation(
        6,
        "the class of ITU-T G.114 was of half the RTT plus the queuing delay only",
        "both: `queuing_delay_class` of the queuing delay alone (IMC'14), `delay_class` of the one-way delay",
        ("class_of_a_delay_holds_its_upper_threshold_alone_and_with_the_path",),
    ),
    Deviation(
        7,
        "solo runs of TCP that use at most 80 % of the link were excluded",
        "they are flagged (`run_flag`) and counted; to leave them out is the analyst's choice",
        (
            "solo_tcp_below_the_threshold_is_flagged_and_not_left_out",
            "solo_tcp_that_does_not_fill_the_link_is_flagged_and_steps_are_not_checked",
        ),
    ),
    Deviation(
        8,
        "a manifest needed a fixed rate where a programme changes it, and figures were divided by that rate",
        "utilisation and the share of the maximum delay are of the rate in force; a run with steps is not checked "
        "against one rate",
        (
            "rate_in_force_is_fixed_or_that_of_the_programme_from_the_start_of_the_run",
            "rate_of_a_window_is_the_mean_of_what_was_in_force_and_not_the_fixed_rate",
            "a_second_without_a_packet_is_a_load_of_0_and_the_rate_is_the_one_in_force",
            "test_a_programme_needs_no_fixed_rate_and_a_run_without_either_is_refused",
        ),
    ),
    Deviation(
        9,
        "the share of the maximum delay was of byte limits in one mart, and of packet limits too in another",
        "one definition in every mart, and `maximum_delay_basis` says what a full queue is",
        (
            "share_of_the_maximum_delay_is_of_packets_too_and_of_the_rate_in_force",
            "maximum_delay_is_of_bytes_or_of_full_size_packets_or_has_a_reason",
        ),
    ),
    Deviation(
        10,
        "box plots alone where runs have two modes; TMA'23 Figure 2 without its RTT axis",
        "every run is a point over its box, Figure 2 has the RTT; dip test and mixture are served by configuration",
        (
            "test_every_run_is_drawn_over_its_box",
            "test_tma23_figure_2_has_the_rtt_axis",
            "test_two_modes_of_a_configuration_are_seen_and_one_is_not_taken_for_two",
        ),
    ),
    Deviation(
        11,
        "IMC'21's table of shares was quoted as published",
        "its reference says that the table is commented out in the draft, and its reading that the text repeats its "
        "values, except where an application competes with itself",
        ("test_references_are_those_of_the_list_and_a_commented_table_is_told_from_the_text",),
    ),
    Deviation(
        12,
        "two or more queues of one log were pooled",
        "marts are of the bottleneck's queue, chosen by the manifest, else the busiest; `run_queue` has every queue "
        "and says why",
        (
            "only_the_queue_that_the_manifest_names_is_the_bottleneck_else_the_busiest",
            "packet_of_the_bottleneck_has_role_in_both_orientations_and_a_half_open_window",
            "test_the_bottleneck_among_several_queues_is_named_by_interface_and_handle",
        ),
    ),
)


def deviations_section() -> list[str]:
    """Return the lines of the section on deviations, in Markdown."""
    return [
        "## Deviations from the studies' definitions",
        "",
        "Former differences from the studies' definitions. Each test fails on the old behaviour.",
        "",
        "| # | before | now | state | tests |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {one.number} | {one.before} | {one.now} | fixed | {', '.join(f'`{name}`' for name in one.tests)} |"
            for one in DEVIATIONS
        ),
    ]
