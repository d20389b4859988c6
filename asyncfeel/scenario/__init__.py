"""One experiment as one validated, frozen value, readable and writable as TOML."""

from asyncfeel.scenario.sections import Scenario

__all__ = ["Scenario"]
