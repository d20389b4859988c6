"""A run on a cluster of two nodes, of which one is killed with a job under way, and the same run in threads."""

import logging
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

import asyncfeel
from asyncfeel import Scenario
from asyncfeel.learning.executors import _ray_worker
from asyncfeel.progress import Silent

ray = pytest.importorskip("ray", reason="this needs the package ray: pip install 'asyncfeel[ray]'")

QUICK = {"RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "3"}
"""Ray misses a killed node after seconds instead of a quarter of a minute."""
NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}

train = _ray_worker.train


class Trap(Silent):
    """From the third iteration on no job ends until the victim has one, and that one never does: it is killed."""

    def __init__(self, cluster, victim, folder: Path) -> None:
        self._open, self._caught = folder / "open", folder / "caught"
        self._kill = lambda: cluster.remove_node(victim, allow_graceful=False)
        self._number = victim.node_id
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def completed(self, federation, completion) -> None:
        if federation.iteration == 3:
            self._open.touch()
            self._thread.start()

    def sprung(self) -> bool:
        """Whether the victim was killed."""
        self._thread.join(10)
        return not self._thread.is_alive()

    def work(self):
        """What a worker does instead of training."""
        number, opened, caught = self._number, self._open, self._caught

        def trained(*arguments):
            here = ray.get_runtime_context().get_node_id()
            while opened.exists() and (here == number or not caught.exists()):
                if here == number:
                    caught.touch()
                time.sleep(0.05)
            return train(*arguments)

        return trained

    def _watch(self) -> None:
        while not self._caught.exists():
            time.sleep(0.05)
        self._kill()


def main(out: Path) -> None:
    """Write the two run folders."""
    from ray import cluster_utils

    scenario = Scenario.load(
        iterations=12, clients=12, servers=3, executor="threads", set={"evaluation.every_iterations": 4}
    )
    asyncfeel.run(scenario, out / "threads")
    os.environ.update(QUICK, RAY_USAGE_STATS_ENABLED="0")
    logging.getLogger("ray").setLevel(logging.ERROR)
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=NODE)
    trap = Trap(cluster, cluster.add_node(**NODE), out)
    _ray_worker.train = trap.work()
    asyncfeel.run(scenario.replace(executor="ray", ray_address=cluster.address), out / "ray", view=trap)
    assert trap.sprung()
    assert not ray.is_initialized()
    folder = cluster.head_node.get_session_dir_path()
    cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
