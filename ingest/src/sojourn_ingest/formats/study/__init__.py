"""Studies: their descriptions and the tables that these describe."""
