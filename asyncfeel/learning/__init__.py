"""Learning: the data, the models and the real training behind the simulated clock.

Data sets, partitions and the stub executor need numpy only; torch is imported by the modules that
compute with models, so that a plan or a list of names starts at once.
"""

import os

os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
"""Intel's library, if torch uses it, then rounds a product alike wherever its matrices lie in memory.

It reads this at its first use. Stacks of models depend on it: see stacked/stack.py.
"""
