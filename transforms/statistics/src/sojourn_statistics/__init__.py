"""Statistics on measurements: pure functions on NumPy arrays, without a database or a file.

`samples` says what goes in and what comes out; upon it stand `histogram`, `intervals`, `shape` and `significance`, and
upon these `comparison` and `correlation`, which know the columns of the marts.
"""
