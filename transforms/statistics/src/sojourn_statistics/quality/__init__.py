"""Quality of experience from measurements: pure functions on numbers and NumPy arrays, without a database or a file.

Every mapping is implemented once here and, where a mart needs it, once in SQL (`models/macros/quality`); a test holds
the two to each other. What a model takes, where it is valid and what it does not say stands in docs/quality.md.
"""
