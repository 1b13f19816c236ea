"""HTTP only: what a request asks for, and its response."""
