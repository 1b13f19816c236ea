"""A mixed model of runs: cells of crossed factors as fixed effects, blocks as random ones."""
