"""Packet captures: one file, several files of one recording, and pairs before and after the bottleneck."""
