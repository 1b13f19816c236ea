"""What every estimator asks of its input, resamples, and the form of its results."""
