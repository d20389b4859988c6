"""The run folder: what a run leaves on disk, written as it goes and readable at any moment."""
