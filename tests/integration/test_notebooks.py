"""Each notebook runs over a real API, from reading to figures, and is in the repository without outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from notebooks import execute

from sojourn_client import ApiError, Client

from .conftest import Service

pytestmark = pytest.mark.integration

NOTEBOOKS = execute.notebooks()
DRAWN_ELSEWHERE = ("imc14-buffers-and-workloads", "imc21-competition", "pam21-zoom-form")
LIKE_ANOTHER = ("model-of-connections", "model-over-http")
"""Notebooks that fit a model to what the API answers, as model-of-your-own does."""
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def studies_api(studies: Service) -> str:
    """The address of an API over everything that the notebooks draw from."""
    return str(studies.client.base_url)


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [], f"{path.name}: clear the outputs"
            assert cell.execution_count is None, f"{path.name}: clear the outputs"
    assert "widgets" not in notebook.metadata


def figures_of(path: Path, url: str, folder: Path) -> list[str]:
    """Run a notebook, and return the names of its figures; each is shown and written, and nothing is warned of."""
    notebook = execute.execute(path, url, folder)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    images = [output for output in outputs if "image/png" in output.get("data", {})]
    written = sorted(folder.glob("*.png"))
    assert len(written) == len(images)
    assert all(figure.stat().st_size > 5_000 for figure in written), "a figure is all but empty"
    warned = [output.text for output in outputs if output.get("name") == "stderr"]
    assert not warned, warned
    return [figure.stem for figure in written]


@pytest.mark.parametrize(
    "path",
    # test_study_figures.py draws the figures of some from runs of its own.
    [
        pytest.param(path, marks=pytest.mark.long if path.stem in (*DRAWN_ELSEWHERE, *LIKE_ANOTHER) else [])
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_every_figure_is_drawn(path: Path, studies_api: str, tmp_path: Path) -> None:
    kept = {figure.stem for figure in (ROOT / "docs" / "figures").glob("*.png")}
    drawn = figures_of(path, studies_api, tmp_path)
    assert drawn
    assert set(drawn) <= kept, "run make figures"


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_build_without_the_runs_that_the_texts_are_about_is_drawn_too(
    path: Path, service: Service, tmp_path: Path
) -> None:
    drawn = figures_of(path, str(service.client.base_url), tmp_path)
    if path.stem in ("imc21-competition", "pam21-zoom-form"):
        assert not {"imc21-link-share-codel", "imc21-bitrates", "pam21-harm", "pam21-rates-over-time"} & set(drawn)
        assert [name for name in drawn if name.endswith("-sojourn-sample")]
        assert not [name for name in drawn if "vca-fairness" in name]


def test_client_reads_every_page_and_names_units(studies_api: str) -> None:
    whole = Client(studies_api).rows("run", order="run_id")
    paged = Client(studies_api, page_rows=700).rows("run", order="run_id")
    assert len(whole) > 3_000
    assert paged.equals(whole)
    assert whole.attrs["units"]["bandwidth_bps"] == "bit/s"
    assert whole.attrs["build_id"] == Client(studies_api).document("/healthz")["build_id"]
    some = Client(studies_api).rows("run", aqm=["codel", "fq_codel"], select=["run_id", "aqm"])
    assert set(some.aqm) == {"codel", "fq_codel"}
    assert list(some.columns)[:2] == ["run_id", "aqm"]


def test_client_says_what_the_api_says(studies_api: str) -> None:
    with pytest.raises(ApiError, match="bandwith_bps") as refused:
        Client(studies_api).rows("run", bandwith_bps=1)
    assert refused.value.status == 422
    with pytest.raises(ApiError, match="sojourn serve"):
        Client("http://127.0.0.1:9").rows("run")
    with pytest.raises(TypeError, match="aqm__null"):
        Client(studies_api).rows("run", aqm=None)  # type: ignore[arg-type]
