"""The fuzzer of the parsers, and the targets that it shares with the test of the corpus."""
