"""Benchmarks: ratios of this service to the least that could do the same work, measured in one run."""
