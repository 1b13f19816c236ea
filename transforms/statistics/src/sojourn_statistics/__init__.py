"""Statistics on measurements: pure functions on NumPy arrays, without a database or a file.

`samples` defines inputs and results. `histogram`, `intervals`, `shape` and `significance` use it. `comparison` and
`correlation` use these, and know the columns of the marts.

Modules write `scipy.stats` in full, because SciPy loads its parts at first use, and import statsmodels in the function
that needs it. Both take a second, which a service that answers sums and quantiles does not need.
"""
