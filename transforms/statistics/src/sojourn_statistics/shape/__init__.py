"""The shape of a distribution: normal or not, one mode or several."""
