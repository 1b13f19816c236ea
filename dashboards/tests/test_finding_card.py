"""The card with a page's finding is one text of HTML, which the adapter's SQL makes."""

from __future__ import annotations

import sqlite3

from asset_files import FILES


def test_a_number_of_a_finding_is_on_one_line_with_its_unit_and_its_text_is_no_markup() -> None:
    (columns,) = (
        each["columns"] for name, each in FILES.items() if name.endswith("/finding.yaml") and "columns" in each
    )
    (answer,) = (each["expression"] for each in columns if each["column_name"] == "answer")
    with sqlite3.connect(":memory:") as connection:
        ((card,),) = connection.execute(
            f"select {answer} from (select 'Run <a> & b.' as headline,"
            " 'Run <a> & b. It keeps 100 % and waits 21 ms.' as sentence, 'Of 95 % of runs.' as context)"
        )
    assert "<b>Run &lt;a> &amp; b.</b> It keeps 100&nbsp;% and waits 21&nbsp;ms.</div>" in card
    assert ">Of 95&nbsp;% of runs.</div>" in card
