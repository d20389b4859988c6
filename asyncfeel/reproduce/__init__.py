"""The paper's figures again: its comparison run, drawn, and its claims judged."""
