"""Several variants of one scenario in one go: a run each, one folder, one table."""
