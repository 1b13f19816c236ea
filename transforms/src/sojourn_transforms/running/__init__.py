"""The compiled statements of the project, executed: one runner for every engine."""
