"""``sojourn look``: files into one page that needs no server, no warehouse and no network."""
