"""The comparison of two builds lists every kind of difference, and no difference where there is none."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn_snapshot.catalogue import Catalogue, Column, Dataset, write_catalogue
from sojourn_transforms.comparing_builds import compare_builds


def snapshot(folder: Path, **marts: pa.Table) -> Path:
    folder.mkdir()
    datasets = []
    for name, rows in marts.items():
        pq.write_table(rows, folder / f"{name}.parquet")
        columns = tuple(Column(name=field.name, type=str(field.type)) for field in rows.schema)
        key = ("run_id", "role")
        datasets.append(Dataset(name=name, grain="one role", key=key, rows=rows.num_rows, columns=columns))
    write_catalogue(folder, Catalogue(datasets=tuple(datasets)))
    return folder


def mart(*rows: tuple[str, str | None, int | None, float | None]) -> pa.Table:
    names = ("run_id", "role", "packets", "rate_bps")
    types = (pa.string(), pa.string(), pa.int64(), pa.float64())
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table({n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)})


BASE = (("r1", "app", 3, 1e6), ("r1", None, 4, None), ("r2", "app", None, float("nan")))


def differences(tmp_path: Path, right: pa.Table) -> list[str]:
    compared = compare_builds(snapshot(tmp_path / "a", m=mart(*BASE)), snapshot(tmp_path / "b", m=right))
    return [str(difference) for difference in compared.differences]


def test_equal_rows_in_another_order_are_equal(tmp_path: Path) -> None:
    assert differences(tmp_path, mart(*reversed(BASE))) == []


def test_doubles_may_differ_in_their_last_digits_and_no_more(tmp_path: Path) -> None:
    near = mart(("r1", "app", 3, 1e6 * (1 + 5e-10)), *BASE[1:])
    assert differences(tmp_path, near) == []
    far = compare_builds(
        tmp_path / "a", snapshot(tmp_path / "c", m=mart(("r1", "app", 3, 1e6 * (1 + 2e-9)), *BASE[1:]))
    )
    assert [d.what for d in far.differences] == ["rate_bps differs"]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ((("r1", "app", 4, 1e6), *BASE[1:]), "m: packets differs in 1 row, such as run_id='r1', role='app'"),
        ((("r1", "app", None, 1e6), *BASE[1:]), "m: packets differs in 1 row"),
        ((("r1", "app", 3, None), *BASE[1:]), "m: rate_bps differs in 1 row"),
        (BASE[1:], "m: only on the left in 1 row, such as run_id='r1', role='app'"),
        ((*BASE, ("r3", "tcp", 1, 1.0)), "m: only on the right in 1 row, such as run_id='r3'"),
        ((*BASE, BASE[0]), "m: key is not unique on the right in 1 row"),
    ],
)  # fmt: skip
def test_each_difference_is_listed_with_an_example(tmp_path: Path, changed: tuple, expected: str) -> None:
    differing = differences(tmp_path, mart(*changed))
    assert len(differing) == 1
    assert expected in differing[0]


def test_another_type_and_a_missing_mart_are_differences(tmp_path: Path) -> None:
    rows = mart(*BASE)
    other = rows.set_column(2, "packets", rows.column("packets").cast(pa.int32()))
    compared = compare_builds(snapshot(tmp_path / "a", m=rows, gone=rows), snapshot(tmp_path / "b", m=other))
    assert [str(d) for d in compared.differences] == [
        "mart gone: only on the left",
        "mart m: columns differ: [('packets', 'BIGINT')] against [('packets', 'INTEGER')]",
    ]


def test_a_folder_without_a_build_is_named(tmp_path: Path) -> None:
    built = snapshot(tmp_path / "a", m=mart(*BASE))
    (tmp_path / "b" / "lake" / "commits").mkdir(parents=True)
    for other, said in (
        ("missing", "missing: no such folder"),
        ("b/lake", "give its parent folder"),
        (".", "it contains no lake"),
        ("b", "b has a lake but no build; run sojourn build --var "),
    ):
        with pytest.raises(FileNotFoundError, match=said):
            compare_builds(built, tmp_path / other)
