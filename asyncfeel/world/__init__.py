"""The simulated world: clients and servers as SimPy processes on a simulated clock."""
