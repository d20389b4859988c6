"""The exact identity of an asynchronous iteration, asserted on the models themselves.

With ybar the data-weighted mean of the servers' models and yhat the trigger's aggregated model,
ybar_{k+1} = ybar_k + mtil_d (yhat - y_d) - sum_j w_j (mtil_d - mtil_j) (yhat - y_j) under the
paper's mixing, and without the last sum under `weighted`. Nobody outside the server sees yhat: it
is what the trigger's own new model implies, so that all other servers' models are put to the test.
"""

from pathlib import Path
from typing import Any

from asyncfeel.jobs import Model
from asyncfeel.progress import Silent
from asyncfeel.resuming.held import value_of
from asyncfeel.scenario import Scenario
from asyncfeel.verify.findings import Check
from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Completion

NEAR = 1e-5
"""How far both sides may be apart, relative to the models: they are float32."""


class Identity(Silent):
    """Checks every iteration of a run that is under way, as its view."""

    def __init__(self) -> None:
        self.check = Check("identity", "iterations", note=f"of the mean of the models, to a relative {NEAR}")
        self._before: list[Model] = []
        self._weighted = False

    def start(self, scenario: Scenario, federation: Federation, folder: Path) -> None:
        """Learn which identity holds."""
        self._weighted = scenario.algorithm.options.get("mixing") == "weighted"
        if scenario.algorithm.kind != "async-sd-feel":
            self.check.skip(f"it is one of asynchronous SD-FEEL, not of {scenario.algorithm.kind}")

    def changing(self, federation: Federation) -> None:
        """Remember the models: servers rebind theirs and never change one in place."""
        self._before = [server.model for server in federation.servers]

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Compare both sides, in float64."""
        if self.check.skipped or self.check.full:
            return
        if len(completion.triggers) > 1:
            self.check.note = "of the iterations that one server completed by itself"
            return
        self.check.rows += 1
        trigger, after = completion.triggers[0].server, [server.model for server in federation.servers]
        column = completion.mixing.get(trigger, {trigger: 1.0})
        self._untouched(federation, completion)
        before = {server: _double(self._before[server]) for server in column}
        aggregated = _double(after[trigger])
        for server, weight in column.items():
            if server != trigger:
                aggregated = aggregated - weight * before[server]
        aggregated = aggregated / column[trigger]
        change = federation.shares[trigger] * (aggregated - before[trigger])
        for server, weight in column.items():
            if server != trigger and not self._weighted:
                lost = federation.shares[trigger] - federation.shares[server]
                change = change - weight * lost * (aggregated - before[server])
        moved, size = 0.0 * change, 0.0
        for server in column:
            new = _double(after[server])
            moved = moved + federation.shares[server] * (new - before[server])
            size = max(size, _norm(new))
        gap = _norm(moved - change)
        if not gap <= NEAR * max(size, 1e-30) and size == size:
            self._differ(completion, f"the mean of the models is off by {gap:.3g}, they have a norm of {size:.3g}")

    def _untouched(self, federation: Federation, completion: Completion) -> None:
        """A server that no column names has the very model it had (A3)."""
        for server in federation.servers:
            same = server.model is self._before[server.number]
            if not same and server.number not in completion.mixing:
                self._differ(completion, f"server {server.number} changed, and is no neighbour of the trigger")

    def _differ(self, completion: Completion, message: str) -> None:
        self.check.differ("models", f"iteration {completion.iteration}: {message}")


def _double(model: Any) -> Any:
    return value_of(model).detach().double()


def _norm(model: Any) -> float:
    return float((model * model).sum().sqrt())
