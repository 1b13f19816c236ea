"""Statements that SQL Lab and DuckDB answer alike: each has one order of its rows, and names that both give."""

from __future__ import annotations

STATEMENTS = (
    "SELECT COUNT(*) FROM published_comparison",
    "SELECT finding_id FROM published_comparison ORDER BY published_comparison_id LIMIT 5",
    "SELECT DISTINCT finding_id FROM published_comparison ORDER BY finding_id DESC LIMIT 2",
    "SELECT DISTINCT finding_id FROM published_comparison ORDER BY finding_id LIMIT 3 OFFSET 4",
    "SELECT study_id, COUNT(*) FROM published_comparison GROUP BY study_id ORDER BY study_id",
    "SELECT study_id, COUNT(*) AS n FROM published_comparison GROUP BY study_id ORDER BY n DESC, study_id LIMIT 2",
    "SELECT study_id, COUNT(DISTINCT finding_id) FROM published_comparison GROUP BY study_id ORDER BY study_id LIMIT 3",
    "SELECT study_id, MIN(stated_low), MAX(stated_high) FROM published_comparison GROUP BY study_id ORDER BY study_id",
    "SELECT MEDIAN(stated_low) FROM published_comparison",
    "SELECT study_id, MEDIAN(stated_low) FROM published_comparison GROUP BY study_id ORDER BY study_id",
    "SELECT SUM(records_read), SUM(records_refused) FROM ingest_outcome",
    "SELECT status, COUNT(*) FROM ingest_outcome GROUP BY status HAVING COUNT(*) > 1 ORDER BY status LIMIT 1",
    "SELECT source_path, records_read FROM ingest_outcome WHERE records_read > 0 ORDER BY source_path LIMIT 2",
    "SELECT source_path FROM ingest_outcome WHERE status IN ('ok', 'partial') ORDER BY source_path LIMIT 4",
    "SELECT status FROM ingest_outcome WHERE status = 'ok' LIMIT 2",
    "SELECT CASE status WHEN 'ok' THEN 'ok' ELSE 'not' END AS how, COUNT(*) FROM ingest_outcome GROUP BY 1 ORDER BY 1",
    "SELECT SUM(CASE WHEN status = 'ok' THEN 1 ELSE 0 END) AS whole FROM ingest_outcome",
    "SELECT a.status, COUNT(*) AS pairs FROM ingest_outcome AS a JOIN ingest_outcome AS b ON a.status = b.status "
    "GROUP BY a.status ORDER BY a.status LIMIT 2",
    "WITH sized AS (SELECT status, size_bytes FROM ingest_outcome WHERE size_bytes > 9) "
    "SELECT MAX(size_bytes), COUNT(*) FROM sized",
    "SELECT MAX(n) AS most FROM (SELECT status, COUNT(*) AS n FROM ingest_outcome GROUP BY status) AS by_status",
)
