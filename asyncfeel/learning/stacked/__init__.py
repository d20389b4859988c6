"""Many models trained as one: the same layer of all of them in one call."""
