"""Limits of requests, the names of the service, and a page of documentation without scripts of other hosts."""
