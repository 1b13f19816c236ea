"""From a plan to repeated runs over real queue disciplines, with captures, queue log and counters of each."""
