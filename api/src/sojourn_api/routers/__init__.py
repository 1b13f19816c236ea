"""HTTP only: what a request asks for, and how it is answered."""
