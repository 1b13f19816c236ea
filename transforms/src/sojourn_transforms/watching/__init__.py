"""``sojourn watch``: what arrives in folders is ingested, built and published."""
