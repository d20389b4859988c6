"""The paper's equations as pure functions: no simulated clock, no training, no files."""
