"""Each notebook runs over a real API, from reading to figures, and lies in the repository without outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from sojourn_client import ApiError, Client

from .conftest import Service, load_notebook_execution

pytestmark = pytest.mark.integration

execution = load_notebook_execution()
NOTEBOOKS = execution.notebooks()


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_figure_is_drawn(path: Path, studies_api: str, tmp_path: Path) -> None:
    notebook = execution.execute(path, studies_api, tmp_path)
    images = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    written = list(tmp_path.glob("*.png"))
    assert len(written) == len(images) > 0
    assert all(figure.stat().st_size > 5_000 for figure in written), "a figure is all but empty"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            warned = [output.text for output in cell.outputs if output.get("name") == "stderr"]
            assert not warned, warned


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
