"""``python -m sojourn_ingest.cli`` is the command ``sojourn`` of this interpreter."""

from sojourn_ingest.cli import main

main()
