"""The ``sojourn`` command as a file that spark-submit can run."""

from sojourn_ingest.cli import main

main()
