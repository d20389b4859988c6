"""The tests, a package so that they can share the replay and the tiny worlds."""
