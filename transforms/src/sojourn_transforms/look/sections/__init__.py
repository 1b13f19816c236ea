"""The sections of a page: each reads models of a view, and gives figures, tables, and the reasons of what is absent."""
