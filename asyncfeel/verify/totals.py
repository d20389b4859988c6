"""The totals of a run, counted again in the derived world and set against the manifest."""

from collections.abc import Iterator
from typing import Any

from asyncfeel.prepare import Prepared
from asyncfeel.recording.manifest import strict
from asyncfeel.tally import Tally
from asyncfeel.verify.against import near
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.world import consensus
from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Completion

Found = tuple[str, Any, Any]


class Totals:
    """Counts what the derived world did, as an observer of the federation."""

    def __init__(self, federation: Federation, prepared: Prepared) -> None:
        self._federation = federation
        self._prepared = prepared
        self._iterations = 0
        self._tally = Tally(federation, prepared.algorithm.objective(federation))

    def changing(self, federation: Federation) -> None:
        """Nothing: only completed iterations count."""

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Count an iteration."""
        self._iterations += 1
        self._tally.completed(federation, completion)

    def check(self, opened: Opened) -> Check:
        """The manifest's facts and totals against those of the derived world."""
        check = Check("totals", "values", note="the manifest against the derived run")
        wanted = self._facts(opened.trained) | self._counts(opened)
        if opened.trained and opened.scenario.stop.patience:
            check.note += "; why patience ended it there, only --retrain can tell"
        if opened.status == "finished":
            wanted |= self._at_the_end(opened)
        for name, value in strict(wanted).items():
            check.rows += sum(1 for _ in leaves(value))
            for path, found, expected in differing(name, opened.manifest.get(name), value, bool(opened.elsewhere)):
                check.compare("manifest.json", found, expected, None, path)
        return check

    def _facts(self, trained: bool) -> dict[str, Any]:
        scenario = self._prepared.scenario
        facts = {
            "by_client": not self._prepared.layout.recorded,
            "seed": scenario.seed,
            "algorithm": scenario.algorithm.kind,
            "topology": scenario.topology.kind,
            "psi": scenario.psi.kind,
            "dataset": scenario.dataset.kind,
            "model": scenario.model.kind,
            "flops_per_step": scenario.work.flops_per_step,
            "model_bits": scenario.network.model_bits,
        }
        return facts | {"executor": scenario.execution.executor if trained else "stub"}

    def _counts(self, opened: Opened) -> dict[str, Any]:
        return {
            "iterations": self._iterations,
            "steps": self._tally.steps,
            "servers": list(self._tally.table()),
        }

    def _at_the_end(self, opened: Opened) -> dict[str, Any]:
        """What depends on the second at which the run ended, which is known unless somebody interrupted it."""
        federation, settings = self._federation, self._prepared.scenario
        clock, until_s = federation.clock, settings.stop.until_s
        end_s = float(clock.now) if clock.stopped or until_s is None else until_s
        clients = sum(len(server) for server in federation.servers)
        found = {
            "time_s": end_s,
            "traffic": federation.traffic.total_bytes(end_s),
            "idle_share": federation.traffic.idle_share(clients, end_s),
        }
        if federation.faults is not None:
            found["faults"] = federation.faults.log.summary()
        if not opened.trained:
            found["diverged"] = 0
            agreement = consensus.agree(federation, settings.consensus.rounds, settings.consensus.tolerance, None)
            rounds = {"rounds": agreement.rounds, "duration_s": agreement.duration_s}
            found["consensus"] = rounds | {"spread_before": None, "spread_after": None}
        return found


def differing(path: str, found: Any, expected: Any, rounding: bool = False) -> Iterator[Found]:
    """The places where two JSON values differ, with both values."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        for key, value in expected.items():
            yield from differing(f"{path}.{key}", found[key], value, rounding)
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for place, value in enumerate(expected):
            yield from differing(f"{path}[{place}]", found[place], value, rounding)
    elif found != expected or type(found) is not type(expected):
        floats = isinstance(found, float) and isinstance(expected, float)
        if not (rounding and floats and near(found, expected)):
            yield path, found, expected


def leaves(value: Any) -> Iterator[Any]:
    """The plain values in a JSON value."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value
