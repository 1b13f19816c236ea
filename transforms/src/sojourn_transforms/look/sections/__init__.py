"""The sections of a page: each reads models of a view, and yields figures, tables, and what is absent with its reason."""
