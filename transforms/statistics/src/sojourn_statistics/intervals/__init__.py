"""Estimates of one sample with their intervals: means, quantiles, proportions, clustered values."""
