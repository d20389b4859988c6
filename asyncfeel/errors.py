"""The errors that asyncfeel raises on purpose.

Each takes exactly one positional message: SimPy re-raises an error as ``type(error)(*error.args)``,
so an error with any other signature would be lost on its way out of a process.
"""


class AsyncFeelError(Exception):
    """Anything that asyncfeel itself reports; its message is one sentence for the user."""


class InputError(AsyncFeelError):
    """The user's input is wrong: the message names the culprit and what was allowed (exit code 2)."""


class Stalled(AsyncFeelError):
    """The simulated world has no event left although it was told to go on: a deadlock."""


class Unrecorded(AsyncFeelError):
    """The record cannot be written, for the disk is full or gone: the run ends with what it has."""


class Interrupted(AsyncFeelError):
    """The user asked the run to end; what was recorded so far is kept."""
