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
        "a configuration did not include the queue's limit in packets, so runs with limits of 8 and 256 packets "
        "counted as repetitions of each other",
        "`queue_limit_packets` is part of the configuration and of the label (such as tail-drop 64 packets), and a "
        "factor in comparisons",
        (
            "queues_of_8_and_256_packets_are_two_configurations_and_old_names_stay",
            "queue_label_names_discipline_and_size",
            "test_quantile_shifts_show_where_two_modes_lie",
        ),
    ),
    Deviation(
        2,
        "TMA'23 Figure 5 showed harm at 10 BDP",
        "it shows queuing delay at 2 BDP; harm at 10 BDP is labelled as not a figure of the study",
        ("test_tma23_figure_5_is_queuing_delay_at_2_bdp",),
    ),
    Deviation(
        3,
        "only one of a run's scores was kept, and the others were not counted",
        "scores belong to items: frames are combined into one value per item, exact duplicates are counted, and a "
        "run's value is the median over its items, with the number of items",
        (
            "frames_become_one_value_of_their_item_and_other_scores_stay_apart",
            "true_duplicates_of_a_score_are_left_out_and_counted",
            "score_finds_its_run_by_name_then_by_session_then_by_most_of_its_time",
        ),
    ),
    Deviation(
        4,
        "IMC'21 figures drew runs in which TCP started first",
        "they draw runs in which the application started first, as the incumbent",
        ("test_imc21_figures_have_the_application_as_incumbent",),
    ),
    Deviation(
        5,
        "PAM'21 Figure 2 showed the received rates of two flows, without a step",
        "it shows the send rate of one solo flow before the bottleneck, with the link rate at each time; without a run "
        "that has a rate programme, there is no Figure 2",
        ("test_pam21_figure_2_is_the_send_rate_of_one_flow_alone",),
    ),
    Deviation(
        6,
        "there was only one ITU-T G.114 class, for half the RTT plus the queuing delay",
        "there are two classes: `queuing_delay_class` for the queuing delay (IMC'14) and "
        "`delay_class` for the one-way delay",
        ("class_of_a_delay_holds_its_upper_threshold_alone_and_with_the_path",),
    ),
    Deviation(
        7,
        "solo TCP runs that use at most 80 % of the link were excluded",
        "they are flagged (`run_flag`) and counted; the analyst decides whether to exclude them",
        (
            "solo_tcp_below_the_threshold_is_flagged_and_not_left_out",
            "solo_tcp_that_does_not_fill_the_link_is_flagged_and_steps_are_not_checked",
        ),
    ),
    Deviation(
        8,
        "a manifest needed a fixed rate even if a programme changed it, and figures were divided by that rate",
        "utilisation and the share of the maximum delay use the rate at the time; a run with steps is not checked "
        "against a single rate",
        (
            "rate_in_force_is_fixed_or_that_of_the_programme_from_the_start_of_the_run",
            "rate_of_a_window_is_the_mean_of_what_was_in_force_and_not_the_fixed_rate",
            "a_second_without_a_packet_is_a_load_of_0_and_the_rate_is_the_one_in_force",
            "test_a_programme_needs_no_fixed_rate_and_a_run_without_either_is_refused",
        ),
    ),
    Deviation(
        9,
        "the share of the maximum delay took only byte limits into account in one mart, but also packet "
        "limits in another",
        "every mart uses the same definition, and `maximum_delay_basis` says what a full queue is",
        (
            "share_of_the_maximum_delay_is_of_packets_too_and_of_the_rate_in_force",
            "maximum_delay_is_of_bytes_or_of_full_size_packets_or_has_a_reason",
        ),
    ),
    Deviation(
        10,
        "runs with two modes were drawn only as a box plot, and TMA'23 Figure 2 had no RTT axis",
        "every run is a point over its box, and Figure 2 has the RTT axis; the dip test and the mixture are served "
        "for each configuration",
        (
            "test_every_run_is_drawn_over_its_box",
            "test_tma23_figure_2_has_the_rtt_axis",
            "test_two_modes_of_a_configuration_are_seen_and_one_is_not_taken_for_two",
        ),
    ),
    Deviation(
        11,
        "the finding quoted IMC'21's table of shares as published",
        "its reference states that the table is commented out in the draft, and its reading states that the text "
        "repeats the values, except where an application competes with itself",
        ("test_references_are_those_of_the_list_and_a_commented_table_is_told_from_the_text",),
    ),
    Deviation(
        12,
        "all queues in a log were pooled",
        "marts cover the bottleneck's queue: the one that the manifest names, or else the busiest; `run_queue` lists "
        "every queue and the basis of the choice",
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
        "These figures once differed from the studies' definitions, and have been corrected.",
        "Each test fails on the old behaviour.",
        "",
        "| # | before | now | tests |",
        "| --- | --- | --- | --- |",
        *(
            f"| {one.number} | {one.before} | {one.now} | {', '.join(f'`{name}`' for name in one.tests)} |"
            for one in DEVIATIONS
        ),
    ]
