"""What network namespaces of this machine need, told in one line before a run."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from sojourn_testbed.backend.backend import BackendError, check_recorder
from sojourn_testbed.backend.netns import NetnsBackend, configuration_name
from sojourn_testbed.plan import Plan
from sojourn_testbed.specification import modules


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sch_netem", "NET_SCH_NETEM"),
        ("cls_matchall", "NET_CLS_MATCHALL"),
        ("act_mirred", "NET_ACT_MIRRED"),
        ("tcp_bbr", "TCP_CONG_BBR"),
        ("ifb", "IFB"),
    ],
)
def test_a_module_has_its_name_in_the_kernel_s_configuration(module: str, name: str) -> None:
    assert configuration_name(module) == name


def test_a_discipline_that_debian_s_kernel_has_built_in_is_looked_for_in_another_kernel() -> None:
    axes = {"queue": ["fq_codel", "codel"], "rate_mbps": [1]}
    planned = Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes})
    assert {"sch_fq_codel", "sch_codel"} <= set(modules(planned, built_in=True))
    assert "sch_fq_codel" not in modules(planned)


def test_a_binary_log_needs_an_image_that_has_its_recorder(tmp_path: Path) -> None:
    axes = {"queue": ["cake"], "rate_mbps": [1]}
    for form in ("text", "binary", "both"):
        planned = Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes, "queue_log": form})
        if form == "text":
            check_recorder(planned, tmp_path)
            continue
        with pytest.raises(BackendError, match="which queue_log needs; build it: make testbed-image"):
            check_recorder(planned, tmp_path)


def test_what_this_machine_lacks_is_told_in_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    # No kernel has this discipline's module but those from 6.17 on that were built with it; and there is no image.
    axes = {"queue": ["cake", "fq_pie"], "rate_mbps": [1]}
    planned = Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes})
    with pytest.raises(BackendError) as raised:
        NetnsBackend(tmp_path).check(planned)
    said = str(raised.value)
    assert "\n" not in said
    if os.geteuid() != 0:
        assert said.startswith("network namespaces and the probe need root")
    elif "this kernel" in said:
        assert platform.release() in said
        assert said.endswith("; use --backend qemu")
    else:
        assert "apt-get install" in said or "make testbed-image" in said
