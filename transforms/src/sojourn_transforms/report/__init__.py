"""``sojourn report``: a mixed model of a study's runs, on one page."""
