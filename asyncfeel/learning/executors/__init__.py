"""Executors: the ways to run jobs for real; each file is one kind, and all give the same results."""
