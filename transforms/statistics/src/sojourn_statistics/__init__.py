"""Statistics on measurements: pure functions on NumPy arrays, without a database or a file.

`samples` defines inputs and results. `histogram`, `intervals`, `shape` and `significance` use it. `comparison` and
`correlation` use these, and know the columns of the marts.
"""
