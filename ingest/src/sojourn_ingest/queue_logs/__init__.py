"""Declarations of queue logs that ship with the package."""
