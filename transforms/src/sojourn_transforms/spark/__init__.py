"""The second engine: the same ingest and the same dbt project on Apache Spark."""
