"""Data files of flent (https://flent.org), file versions 1 to 4: series, settings, connections, counters."""
