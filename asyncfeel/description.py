"""What a run says of itself: its name, its config.toml, and the facts of its manifest."""

from pathlib import Path
from typing import Any

from asyncfeel.prepare import Prepared
from asyncfeel.scenario import Scenario, text

HEADING = "The scenario of this run, complete: 'asyncfeel run --config' on it repeats the run."


def name(scenario: Scenario, trained: bool) -> str:
    """What the run's folder is called if nobody names it."""
    kinds = (scenario.algorithm.kind, scenario.topology.kind, scenario.psi.kind)
    plain = "-".join(Path(kind.replace(":", "/")).stem for kind in kinds)
    return f"{'' if trained else 'plan-'}{plain}-seed{scenario.seed}"


def config(scenario: Scenario) -> str:
    """The run's config.toml."""
    return text.write(scenario, HEADING)


def remark(executor: Any) -> str | None:
    """Why this executor was chosen, and what it has to say by now."""
    return "; ".join(said for name in ("why", "note") if (said := getattr(executor, name, None))) or None


def facts(prepared: Prepared, scenario: Scenario, executor: Any) -> dict[str, Any]:
    """What the manifest has from the start."""
    learner = prepared.learner
    return {
        "kind": "run" if learner else "plan",
        "by_client": not prepared.layout.recorded,
        "seed": scenario.seed,
        "algorithm": scenario.algorithm.kind,
        "topology": scenario.topology.kind,
        "psi": scenario.psi.kind,
        "dataset": scenario.dataset.kind,
        "model": scenario.model.kind,
        "executor": scenario.execution.executor if learner else "stub",
        "executor_note": remark(executor),
        "workers": getattr(executor, "workers", 0),
        "device": str(learner.device) if learner else None,
        "flops_per_step": scenario.work.flops_per_step,
        "model_bits": scenario.network.model_bits,
        **({"faults": {}} if prepared.hazards.any else {}),
    }
