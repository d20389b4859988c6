"""What a run amounts to, for its manifest."""

from dataclasses import asdict
from typing import Any

from asyncfeel.measurements import Measurements
from asyncfeel.tally import Tally
from asyncfeel.world.federation import Federation


def totals(federation: Federation, tally: Tally, measurements: Measurements, end_s: float) -> dict[str, Any]:
    """Iterations, steps, servers, losses and traffic up to the end."""
    clients = sum(len(server) for server in federation.servers)
    return {
        "iterations": federation.iteration,
        "time_s": end_s,
        "steps": tally.steps,
        "metrics": asdict(latest) if (latest := measurements.latest) else None,
        "best_accuracy": measurements.best_accuracy,
        "servers": tally.table(),
        "traffic": federation.traffic.total_bytes(end_s),
        **({"faults": faults.log.summary()} if (faults := federation.faults) else {}),
        "idle_share": federation.traffic.idle_share(clients, end_s),
    }
