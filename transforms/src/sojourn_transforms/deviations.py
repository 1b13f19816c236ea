"""Where figures of the studies once differed from what the studies define, and definitions of Sojourn that were wrong.

`docs/validation.md` shows both lists, with the tests that hold each correction; a test checks that these tests exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """One deviation or wrong definition: what was drawn or computed, what is now, and the tests by name.

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

CORRECTED_DEFINITIONS = (
    Deviation(
        1,
        "the one-way delay of voice and the round trip of a page load contained only the bottleneck's queue, and the "
        "14 round trips of IMC'14's page counted for every page",
        "they contain the queues of both directions; if one direction was not measured, there is no such delay but a "
        "reason; the page of each study has its own number of round trips, 14 in IMC'14, or no share of them",
        (
            "delays_of_both_directions_join_in_three_ways_and_a_failed_pesq_is_no_score",
            "a_page_load_is_dominated_by_its_round_trips_through_both_queues_from_half_of_its_time_on",
        ),
    ),
    Deviation(
        2,
        "harm by delay divided queuing delays, so it was almost 1 with every queue if there was no queue in solo runs",
        "it divides the delays that a user has: the path's delay plus the queuing delay",
        ("harm_by_delay_is_of_the_delay_that_a_user_has",),
    ),
    Deviation(
        3,
        "verdicts on published statements in other runs used the median alone",
        'they use the whole interval, and are "cannot tell" without an interval or if it only partly agrees; "agrees" '
        'means within the tolerance, and "same side" only on the side of the statement',
        ("statement_is_judged_by_the_whole_interval_in_every_matching_configuration_of_another_study",),
    ),
    Deviation(
        4,
        "published statements were compared with other kinds of application, links of another relation to the demand, "
        "and the direction that was not congested; a configuration could count twice",
        "a statement is compared only with applications of its kind, at its demand relative to the link, with its "
        "queue and in the congested direction; a configuration counts once",
        (
            "statement_meets_its_like_at_the_same_demand_in_the_congested_direction",
            "finding_is_compared_in_each_group_or_says_why_not",
            "test_kept_runs_answer_only_statements_about_their_like",
        ),
    ),
    Deviation(
        5,
        "a rate had recovered as soon as it reached 90 % of its earlier value for one second",
        "the median over five seconds must reach that level and hold it for 10 s; reaching the demand is a separate "
        "figure",
        ("reaction_is_the_first_second_at_the_new_rate_and_the_return_is_one_that_holds",),
    ),
    Deviation(
        6,
        "a host that changed its access technology counted twice among all hosts",
        "it counts once in each technology and once in all",
        (
            "a_host_that_changes_its_technology_counts_once_in_each_and_once_in_all",
            "host_shares_are_sums_over_bins_and_a_host_that_changes_its_technology_counts_once_in_all",
        ),
    ),
)


def _table(corrections: Sequence[Deviation]) -> list[str]:
    return [
        "| # | before | now | tests |",
        "| --- | --- | --- | --- |",
        *(
            f"| {one.number} | {one.before} | {one.now} | {', '.join(f'`{name}`' for name in one.tests)} |"
            for one in corrections
        ),
    ]


def deviations_section() -> list[str]:
    """Return the lines of the sections on deviations and on corrected definitions, in Markdown."""
    return [
        "## Deviations from the studies' definitions",
        "",
        "These figures once differed from the studies' definitions, and have been corrected.",
        "Each test fails on the old behaviour.",
        "",
        *_table(DEVIATIONS),
        "",
        "## Corrected definitions",
        "",
        "These definitions of Sojourn were wrong, and have been corrected. Each test fails on the old behaviour.",
        "",
        *_table(CORRECTED_DEFINITIONS),
    ]
