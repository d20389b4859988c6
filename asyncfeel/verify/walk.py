"""The rows of a run by themselves: do they fit together, whatever program wrote them?

Nothing is simulated here. iterations.csv, staleness.csv and mixing.csv are read side by side, an
iteration at a time, and each row is checked against those before it and beside it.
"""

import math
from collections.abc import Callable, Sequence

from asyncfeel.scenario import Scenario
from asyncfeel.verify import counts, matrices
from asyncfeel.verify.durations import durations
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.promises import promise, said
from asyncfeel.verify.reading import Malformed, Row, Rows, finite
from asyncfeel.verify.world import World

NEAR = 1e-9


class Walk:
    """Goes through the tables and remembers when each server broadcast last."""

    def __init__(self, opened: Opened, scenario: Scenario, world: World) -> None:
        self._opened, self._scenario, self._world = opened, scenario, world
        self._servers = 1 if opened.by_client else world.servers
        self._equations = durations(scenario, world, opened.faulty)
        self._ruled = not opened.by_client and ":" not in scenario.algorithm.kind
        """Whether the rules of clusters hold: a system of a user's own may have others."""
        self._fresh = scenario.algorithm.options.get("own_staleness") == "fresh"
        self._broadcast_at = [0] * self._servers
        self._completed_s = [0.0] * self._servers
        self._now_s = 0.0
        self._counted = counts.Counts(self._servers)
        equations = ", durations" if self._equations else ""
        if opened.faulty:
            equations = f"{', least durations' if self._equations else ''}; with faults, nobody can tell the rest"
        self.times = Check("iterations", note=f"order, times, own staleness, steps{equations}")
        self.staleness = Check("staleness", note="since the last broadcast; weights sum to 1 and are those of P_k")
        self.matrices = Check("P_k", "entries", note=said(promise(scenario.algorithm, 1)))

    def checks(self) -> list[Check]:
        """Walk to the end of the tables, or to the first row that is none."""
        try:
            names = ("iterations", "staleness", *(() if self._opened.by_client else ("mixing",)))
            self._walk(**{name: self._open(name) for name in names})
        except Malformed as error:
            self.times.differ("tables", str(error))
        if not self._ruled and not self._opened.by_client:
            self.staleness.skip("a system of one's own has its own rules")
        found = [self.times, self.staleness, *([] if self._opened.by_client else [self.matrices])]
        totals = counts.compare(self._opened, self._counted, self._world)
        return [*found, totals] if totals and all(check.ok for check in found) else found

    def _open(self, name: str) -> Rows:
        return Rows(self._opened.path / f"{name}.csv", self._opened.columns(name), torn=not self._opened.ended)

    def _walk(self, iterations: Rows, staleness: Rows, mixing: Rows | None = None) -> None:
        k = 0
        while (row := iterations.peek()) is not None and not self.times.full:
            if self._opened.gaps and row["iteration"] > k:
                k = self._without_rows(mixing, int(row["iteration"]))
            if row["iteration"] != k:
                self.times.compare(iterations.name, int(row["iteration"]), k, iterations.row, "iteration")
                return
            triggers = self._triggers(iterations, k)
            if not self._opened.ended and iterations.peek() is None:
                return  # what belongs to the newest iteration may not be written yet
            if mixing is None:
                self._merged(staleness, k, triggers[0])
            else:
                entries = matrices.take(self.matrices, mixing, k, self._world)
                promised = promise(self._scenario.algorithm, len(triggers))
                matrices.stochastic(self.matrices, k, entries, promised, self._world)
                if self._ruled:
                    self._columns(staleness, k, triggers, entries)
            self._close(k, triggers)
            if self.staleness.full or self.matrices.full:
                return
            k += 1
        if self._opened.ended and self._opened.gaps and (self._opened.iterations or 0) > k:
            k = self._counted.iterations = self._without_rows(mixing, self._opened.iterations or 0)
        if self._opened.ended and not self.times.full:
            unread = staleness if self._ruled or mixing is None else None
            for table, check in ((unread, self.staleness), (mixing, self.matrices)):
                if table is not None and table.peek() is not None:
                    check.differ(table.name, f"it goes on after the last of {k} iterations", table.row)

    def _without_rows(self, mixing: Rows | None, until: int) -> int:
        """Go on to an iteration; those before it, to which nobody contributed, may have mixed."""
        while mixing and (entry := mixing.peek()) is not None and entry["iteration"] < until and not self.matrices.full:
            k = int(entry["iteration"])
            entries = matrices.take(self.matrices, mixing, k, self._world)
            matrices.stochastic(self.matrices, k, entries, promise(self._scenario.algorithm, 0), self._world)
        return until

    def _triggers(self, table: Rows, k: int) -> list[Row]:
        """The rows of one iteration, each checked by itself and against those before."""
        found: list[Row] = []
        for row in table.of(k):
            self.times.rows += 1

            def wrong(column: str, expected: object, row: Row = row) -> None:
                self.times.compare(table.name, row[column], expected, table.row, column)

            if column := finite(row):
                wrong(column, "a finite number")
            least = found[-1]["server"] + 1 if found else 0
            if not least <= row["server"] < self._servers:
                raise Malformed(f"{table.name}: row {table.row} has server {row['server']}, which cannot come there")
            self._check_times(row, found[0] if found else None, wrong)
            if self._ruled:
                own = 0 if self._fresh else k - self._broadcast_at[int(row["server"])]
                if row["staleness"] != own:
                    wrong("staleness", own)
            found.append(row)
            if self.times.full:
                break
        return found

    def _check_times(self, row: Row, first: Row | None, wrong: Callable[[str, object], None]) -> None:
        now_s, started_s = row["time_s"], row["started_s"]
        if now_s < self._now_s or (first is not None and now_s != first["time_s"]):
            wrong("time_s", f"at least {self._now_s}, and the same in one iteration")
        before_s, faulty = self._completed_s[int(row["server"])], self._opened.faulty
        if self._ruled and (started_s < before_s if faulty else started_s != before_s):
            wrong("started_s", f"at least {before_s}" if faulty else before_s)
        lasted_s = math.inf if faulty and not self._equations else (now_s - started_s) * (1 + NEAR) + NEAR
        if not 0 <= row["deadline_s"] <= lasted_s or not 0 <= started_s <= now_s:
            wrong("deadline_s", f"at most {now_s - started_s}, the time since started_s")
        most = self._most_results()
        if not 1 <= row.get("clients", 1) <= most:
            wrong("clients", f"from 1 to {most}")
        if not row["steps_min"] <= row["steps_mean"] <= row["steps_max"]:
            wrong("steps_mean", f"between {row['steps_min']} and {row['steps_max']}")
        if self._equations and (found := self._equations.wrong(row)):
            wrong(found[0], found[2])

    def _most_results(self) -> int:
        """The results that one iteration can have: one of each client, or as many as a buffer holds."""
        buffered = self._scenario.algorithm.options.get("K")
        return max(self._world.clients, buffered if isinstance(buffered, int) else 0)

    def _columns(self, table: Rows, k: int, triggers: list[Row], entries: matrices.Entries) -> None:
        """D rows for each trigger: who is how stale, and the trigger's column of P_k."""
        stale = [k - last for last in self._broadcast_at]
        columns: dict[int, list[float]] = {}
        for trigger in triggers:
            own = int(trigger["server"])
            columns[own] = [0.0] * self._servers
            columns[own][own] = 1.0
            stale[own] = 0 if self._fresh else stale[own]
        for (source, target), weight in entries.items():
            if target in columns:
                columns[target][source] = weight
        for own, weights in columns.items():
            self._column(table, (k, triggers[0]["time_s"], own), stale, weights)
            total = math.fsum(weights)
            if not math.isclose(total, 1.0, rel_tol=NEAR):
                self.staleness.differ(table.name, f"the weights of iteration {k} sum to {total} instead of 1")
            if self.staleness.full:
                return

    def _column(
        self, table: Rows, start: tuple[int, float, int], stale: Sequence[int], weights: Sequence[float]
    ) -> None:
        """The rows of one trigger: all at once if they are as they should be, else one by one."""
        self.staleness.rows += self._servers
        begin, rest = ",".join(map(repr, start)), zip(stale, weights, strict=True)
        text = "".join([f"{begin},{server},{delta},{weight!r}\n" for server, (delta, weight) in enumerate(rest)])
        if table.skip(text.encode(), self._servers):
            return
        for server, (delta, weight) in enumerate(zip(stale, weights, strict=True)):
            row, expected = table.take(), (*start, server, delta, weight)
            if row is None:
                self.staleness.differ(table.name, f"it ends before server {server} of iteration {start[0]}", table.row)
                return
            for (column, found), wanted in zip(row.items(), expected, strict=True):
                if found != wanted:
                    self.staleness.compare(table.name, found, wanted, table.row, column)

    def _merged(self, table: Rows, k: int, trigger: Row) -> None:
        """A row for each client's result that a single server merged."""
        stalest = 0.0
        for row in table.of(k):
            self.staleness.rows += 1
            if (row["time_s"], row["trigger"], row["server"]) != (trigger["time_s"], 0, 0):
                self.staleness.differ(table.name, f"it does not belong to iteration {k} of server 0", table.row)
            if (
                not 0 <= row["client"] < self._world.clients
                or not 0 <= row["weight"] < math.inf
                or row["staleness"] > k
            ):
                self.staleness.differ(table.name, "no client can have this weight or staleness", table.row)
            stalest = max(stalest, row["staleness"])
            if self.staleness.full:
                return
        if stalest != trigger["staleness"]:
            self.staleness.compare("iterations.csv", trigger["staleness"], stalest, None, f"staleness of {k}")

    def _close(self, k: int, triggers: list[Row]) -> None:
        for row in triggers:
            server = int(row["server"])
            self._broadcast_at[server], self._completed_s[server] = k + 1, row["time_s"]
            self._counted.add(server, row, len(self._world.flops[server]))
        self._counted.iterations = k + 1
        self._now_s = triggers[0]["time_s"]
