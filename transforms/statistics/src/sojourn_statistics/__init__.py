"""Statistics on measurements: pure functions on NumPy arrays, without a database or a file."""
