"""`python -m asyncfeel` is the command `asyncfeel`."""

from asyncfeel.cli import app

app()
