"""A run in a few lines: what was reached, how stale every server was, where the folder is."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.terminal import printable
from asyncfeel.units import duration


def of_folder(folder: Path) -> dict[str, Any]:
    """What there is to say about a run folder, finished or not."""
    from asyncfeel.recording import manifest

    found = manifest.read(folder)
    if missing := [name for name in ("status", "kind", "algorithm", "topology", "psi", "seed") if name not in found]:
        raise InputError(f"the manifest of {str(folder)!r} has no {missing[0]!r}: it is not that of a run")
    if "servers" not in found:
        with safe_files.damaged(f"the run {str(folder)!r}"):
            found |= _so_far(folder, bool(found.get("by_client")))
    return {"folder": str(folder), **found}


def _so_far(folder: Path, one_server: bool) -> dict[str, Any]:
    """What the tables of a run show that has not ended, or did not end well."""
    from asyncfeel.recording import manifest, tables

    done, clients = tables.read(folder, "iterations"), tables.read(folder, "clients")
    if one_server:
        clients["server"] = clients["server"] * 0
    metrics = tables.read(folder, "metrics") if (folder / "metrics.csv").is_file() else {}
    servers = []
    for server in sorted(set(clients["server"].tolist())):
        own = done["staleness"][done["server"] == server]
        servers.append(
            {
                "server": server,
                "clients": int((clients["server"] == server).sum()),
                "share": float(clients["samples"][clients["server"] == server].sum() / clients["samples"].sum()),
                "iterations": len(own),
                "staleness_mean": float(own.mean()) if len(own) else 0.0,
                "staleness_max": int(own.max()) if len(own) else 0,
            }
        )
    last = {name: values[-1].item() for name, values in metrics.items()} if len(metrics.get("time_s", ())) else None
    best = float(metrics["test_accuracy"].max()) if last else None
    iterations = int(done["iteration"][-1]) + 1 if len(done["iteration"]) else 0
    reached_s = float(done["time_s"][-1]) if len(done["time_s"]) else 0.0
    reached: dict[str, Any] = manifest.strict({"metrics": last, "best_accuracy": best, "servers": servers})
    return {"iterations": iterations, "time_s": reached_s, **reached, **_faults(folder)}


def _faults(folder: Path) -> dict[str, Any]:
    from asyncfeel.recording import tables

    if not (folder / "faults.csv").is_file():
        return {}
    table = tables.read(folder, "faults")
    kinds = dict.fromkeys(table["kind"].tolist())
    rows = {kind: table["kind"] == kind for kind in kinds}
    return {
        "faults": {
            kind: {"count": int(which.sum()), "lost_s": float(table["lost_s"][which].sum())}
            for kind, which in rows.items()
        }
    }


def show(console: Console, found: dict[str, Any]) -> None:
    """Print the summary as two small tables."""
    with safe_files.damaged(f"the manifest of {found['folder']!r}"):
        _show(console, found)


def _show(console: Console, found: dict[str, Any]) -> None:
    facts = Table(box=None, show_header=False, pad_edge=False)
    for name, value in _facts(found):
        facts.add_row(name, Text(printable(value)))
    console.print(facts)
    console.print(_servers(found["servers"]))
    console.print(found["folder"], soft_wrap=True, highlight=False, markup=False, emoji=False)


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [
        (
            found["kind"],
            f"{found['status']}: {found['algorithm']}, {found['topology']}, psi {found['psi']}, seed {found['seed']}",
        ),
        ("simulated", f"{duration(found['time_s'])}, {found['iterations']:,} iterations"),
    ]
    metrics = found.get("metrics")
    if metrics:
        facts.append(("train loss", _loss(metrics["train_loss"])))
        facts.append(("test loss", _loss(metrics["test_loss"])))
        if metrics["test_accuracy"] is not None and found["best_accuracy"] is not None:
            facts.append(("test accuracy", f"{metrics['test_accuracy']:.2%} (best {found['best_accuracy']:.2%})"))
    consensus = found.get("consensus")
    if consensus and consensus["rounds"]:
        facts.append(("consensus", f"{consensus['rounds']} rounds, {duration(consensus['duration_s'])} simulated"))
    if "steps" in found:
        facts.append(("training", f"{found['steps']:,} steps" + _rate(found)))
    if found.get("diverged"):
        facts.append(("diverged", f"{found['diverged']:,} results of clients were left out (divergence.csv)"))
    if found.get("faults"):
        facts.append(("faults", ", ".join(f"{one['count']:,} {kind}" for kind, one in found["faults"].items())))
    if found.get("executor_note"):
        facts.append(("executor", f"{found['executor']}: {found['executor_note']}"))
    return facts


def _loss(value: float | None) -> str:
    return "not a number: training diverged" if value is None else f"{value:.4f}"


def _rate(found: dict[str, Any]) -> str:
    if found["kind"] == "plan":
        return f", planned in {duration(found['wall']['training_s'])}"
    seconds, before_s = found["wall"]["training_s"], found["wall"].get("before_s")
    if before_s is not None:
        return f", the last of them in {duration(seconds)} real time, after {duration(before_s)} before it was stopped"
    return f" in {duration(seconds)} real time ({found['steps'] / seconds:,.0f} steps/s, {found['executor']})"


def _servers(servers: list[dict[str, Any]], most: int = 32) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("server", "clients", "data", "objective", "iterations", "staleness mean", "max"):
        table.add_column(name, justify="right")
    for one in servers[:most]:
        weight = f"{one['objective_weight']:.1%}" if "objective_weight" in one else ""
        who = (str(one["server"]), str(one["clients"]), f"{one['share']:.1%}", weight)
        table.add_row(*who, str(one["iterations"]), f"{one['staleness_mean']:.2f}", str(one["staleness_max"]))
    if len(servers) > most:
        table.add_row("...", f"{len(servers) - most} more")
    return table


def show_catalogue(console: Console, kinds: dict[str, dict[str, str]]) -> None:
    """Print what there is to choose from, a table for each kind; whole lines where nobody looks."""
    for what, names in kinds.items():
        width = max(map(len, names))
        console.print(Text(what, style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for name, description in names.items():
            if console.is_terminal:
                table.add_row(Text(f"  {name:<{width}}"), Text(description))
            else:
                console.print(Text(f"  {name:<{width}}  {description}"), soft_wrap=True)
        if console.is_terminal:
            console.print(table)
