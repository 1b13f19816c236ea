"""The dbt project ``models/``: running it, what its manifest says, and what is written for it from declarations."""
