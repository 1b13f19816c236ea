"""What the cards that begin the pages of Superset ask the API of SOJOURN_API_URL for; prints their answers as JSON.

Run by Superset's Python, which has the adapter that the cards read through.
"""

from __future__ import annotations

import html
import json
import re

from sojourn_client import Client
from sojourn_superset import assets
from sojourn_superset.adapter_query import adapter, first_column, rows_that_meet, sql_by_column
from sojourn_superset.look import read_look
from sojourn_superset.security import api_url
from sojourn_superset.settings import ASSETS


def main() -> None:
    """Print, by question, the limit of the card, and the sentence with its context as each of its rows has them."""
    files, look = assets.read(ASSETS), read_look(ASSETS)
    (dataset,) = (each for name, each in files.items() if name.endswith("/finding.yaml") and "table_name" in each)
    answers: dict[str, tuple[int, list[str]]] = {}
    with Client(api_url()) as client, adapter(client) as connection:
        # The file names only the columns that the API does not have, or that differ.
        served = [{"column_name": each.name} for each in client.dataset("finding").columns]
        dataset["columns"] = [*served, *dataset["columns"]]
        answer = sql_by_column(dataset)["answer"]
        for chart in files.values():
            if chart.get("dataset_uuid") != dataset["uuid"]:
                continue
            params = look.params(chart, chart["sojourn"].get("filters", ()))
            conditions, limit = params["adhoc_filters"], params["row_limit"]
            (question,) = (each["comparator"] for each in conditions if each["subject"] == "question")
            query = f"SELECT {answer} AS answer {rows_that_meet(conditions, dataset)} GROUP BY {answer}"
            if "timeseries_limit_metric" in params:
                query += f" ORDER BY {params['timeseries_limit_metric']['sqlExpression']} DESC"
            query += f" LIMIT {limit}"
            rows = [re.sub(r"<[^>]*>", "", row.replace("</div>", " ")) for row in first_column(connection, query)]
            # A number and its unit stay on one line by a no-break space.
            answers[question] = limit, [" ".join(html.unescape(row).split()) for row in rows]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
