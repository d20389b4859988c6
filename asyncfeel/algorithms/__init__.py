"""The systems that can be run, one file each: chosen by name, described by their parameters."""
