"""asyncfeel from a bare checkout: `python cli.py run` is the command `asyncfeel run`."""

from asyncfeel.cli import app

app()
