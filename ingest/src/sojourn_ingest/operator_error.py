"""Errors that the operator of a command can correct."""


class OperatorError(Exception):
    """The command line prints the message as one line and no traceback.

    It is in a module of its own that imports nothing, because every command knows it before it knows what it will need.
    """
