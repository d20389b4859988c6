"""Learning: the data, the models and the real training behind the simulated clock.

Data sets, partitions and the stub executor need numpy only; torch is imported by the modules that
compute with models, so that a plan or a list of names starts at once.
"""
