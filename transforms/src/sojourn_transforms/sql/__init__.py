"""SQL over the served build: ``sojourn sql``, and the same connection in Python.

>>> from sojourn_transforms.sql.local import connect_local
>>> connect_local().sql("select study_id, count(*) from run group by all")
"""
