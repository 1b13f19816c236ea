"""Sizes of the lake's files that a compaction aims at."""

from __future__ import annotations

MIB = 2**20
#: Files below this are put together.
SMALL_BYTES = 128 * MIB
#: Approximate size of the compacted files; the real size varies, because sorted rows compress better.
TARGET_BYTES = 256 * MIB
