"""SQL over the datasets of a snapshot. No HTTP here."""
