"""Going on with a run that was stopped, to the last byte as if it had never been.

SimPy's processes cannot be saved, and need not be: the schedule is a function of the scenario. So the
world is lived through again without training (`door.py`), with stand-ins for models (`held.py`) and
the recorded numbers that decisions depended on (`journal.py`), up to the event at which the checkpoint
(`files.py`) was made. Then the stand-ins that are still held get their models, the jobs that were in flight
begin anew, and the run goes on (`restoring.py`).
"""
