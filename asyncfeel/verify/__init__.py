"""Checking a run folder: is every file what config.toml implies, and what the run wrote?"""
