"""Plans: what is accepted, and that each fault is named with its place before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn_testbed.plan import Plan, PlanError, load_plan

SHORT = """
sojourn_testbed: 1
study: cake
axes:
  queue: [fq_codel, cake]
  rate_mbps: [1]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(text)
    return path


def test_a_plan_of_a_few_lines_has_sensible_defaults(tmp_path: Path) -> None:
    plan = load_plan(written(tmp_path, SHORT))
    assert plan.repetitions == 5
    assert [queue.discipline for queue in plan.axes.queue] == ["fq_codel", "cake"]
    assert plan.axes.congestion_control == ["cubic"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("study: cake", "study: cake\nrepetition: 3"), "repetition: is not a key"),
        (("study: cake", "study: cake\nqueue_log: qmon"), "queue_log: Input should be 'text', 'binary' or 'both'"),
        (("[fq_codel, cake]", "[tail-drop]"), "tail-drop has no size"),
        (("[fq_codel, cake]", "[{discipline: cake, size_bdp: 2}]"), "CAKE sizes its queue by itself"),
        (("[fq_codel, cake]", "[{discipline: pie, interval_ms: 100}]"), "interval_ms is not a parameter of pie"),
        (("[fq_codel, cake]", "[cake, cake]"), "queue names a value twice"),
        (("[fq_codel, cake]", "[fifo_fast]"), "axes.queue.0.discipline"),
        (("[1]", "[]"), "axes.rate_mbps"),
        (("[1]", "[-1]"), "axes.rate_mbps.0"),
        (("[1]", "[0.05]"), "voice (G.711) needs 87 kbit/s"),
        (("study: cake", "study: cake\ntiming: {window_start_s: 1}"), "expected second_start_s + start_spread_s <="),
        (("study: cake", "study: cake\nrate_steps: [{at_s: 40, rate_mbps: 1}]"), "comes after the end"),
        (("study: cake", "study: Cake!"), "study"),
        (("sojourn_testbed: 1", "sojourn_testbed: 2"), "sojourn_testbed"),
        (("sojourn_testbed: 1", ""), "expected a line `sojourn_testbed: 1`"),
        (("axes:", "axes: ["), "cannot be read as YAML"),
        (("[1]", "[1]\n  workload: [long-lots]"), "workload 'long-lots' is not one of"),
        (("[1]", "[1]\n  congestion_control: []"), "nothing competes"),
        (("[1]", "[1]\n  workload: [long-few]\n  congested: [both]"), "needs the rate of both directions; give links"),
        (("[1]", "[1]\n  application: [web]\n  direction: [uplink]"), "web downloads, so its data do not pass"),
        (("[1]", "[1]\n  rival: [skype]"), "axes.rival.0"),
        (("study: cake", "study: cake\nlinks: {downlink_mbps: 16, uplink_mbps: 1}"), "expected either axes.rate_mbps"),
        (("  rate_mbps: [1]", ""), "expected either axes.rate_mbps, or links"),
        (("study: cake", "study: cake\nworkloads: {mine: {flow_length: long}}"), "described but in no cell"),
        (("study: cake", "study: cake\nworkloads: {mine: {flow_length: endless}}"), "workloads.mine.flow_length"),
        (("study: cake", "study: cake\ntiming: {second_end_s: 3}"), "second_end_s <= end_s"),
        (("study: cake", "study: cake\nrate_steps: [{at_s: 4.5, rate_mbps: 1}]"), "expected whole seconds"),
        (
            ("study: cake", "study: cake\nrtt_steps: [{at_s: 40, rtt_ms: 1}]"),
            "round-trip time at 40 s comes after the end",
        ),
        (("study: cake", "study: cake\nprogrammes: {falls: {rate_steps: [{at_s: 4, rate_mbps: 1}]}}"), "in no cell"),
        (("[1]", "[1]\n  programme: [falls]"), "is not one of steady"),
        (("study: cake", "study: cake\nrate_steps: [{at_s: 4, rate_mbps: 1}, {at_s: 4, rate_mbps: 2}]"), "given twice"),
        (("[1]", "[1]\n  application: [clip]"), "expected both the application clip and the file"),
        (("study: cake", "study: cake\nclip: nowhere.ts"), "there is no file"),
        (("study: cake", "study: cake\nclip: plan.yaml"), "expected both the application clip and the file"),
        (("[1]", "[1]\n  application: [clip]\nclip: plan.yaml"), "expected snap_length_bytes of 1514 or more"),
        (("study: cake", "study: cake\nping_interval_ms: 1"), "ping_interval_ms"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(PlanError) as raised:
        load_plan(written(tmp_path, SHORT.replace(*change)))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_shipped_plans_are_valid(repository: Path, tmp_path: Path) -> None:
    plans = sorted((repository / "testbed" / "plans").glob("*.yaml"))
    assert plans
    (tmp_path / "clip.ts").touch()
    # A plan that sends a clip is shipped without it, and says in a comment how to make it.
    for path in plans:
        text = path.read_text()
        sends_a_clip = "\nclip: clip.ts\n" in text
        plan = load_plan(written(tmp_path, text) if sends_a_clip else path)
        if path.name.startswith(("imc", "pam")):
            # Fewer have no exact interval of a median.
            assert plan.repetitions >= 6, path
        assert isinstance(plan, Plan)
        assert not sends_a_clip or "#   ffmpeg " in text
