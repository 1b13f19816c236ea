"""Queue logs and counters of queue disciplines."""
