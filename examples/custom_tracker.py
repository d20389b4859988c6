"""A tracker of one's own: an object with start, log and finish. With MLflow or W&B each method is one call.

From the command line, in this folder: asyncfeel run --log custom_tracker:Fake
"""

import tempfile

from asyncfeel import Scenario, run


class Fake:
    """Stands for a service: it keeps what it is told."""

    def start(self, facts):
        """The run begins."""
        self.name, self.curves = f"{facts['algorithm']}, seed {facts['seed']}", {}

    def log(self, values, *, time_s, iteration):
        """Something was found at a simulated second."""
        for name, value in values.items():
            self.curves.setdefault(name, []).append((time_s, value))

    def finish(self, summary):
        """The run is over."""
        self.status = summary["status"]


if __name__ == "__main__":
    fake = Fake()
    scenario = Scenario.load(clients=12, servers=4, until="1.5s", set={"training.learning_rate": 0.05})
    result = run(scenario, tempfile.mkdtemp(), trackers=[fake])
    print(f"{fake.name}: {fake.status}")
    for name, curve in sorted(fake.curves.items()):
        print(f"{name}: {len(curve)} points, the last at second {curve[-1][0]:.3f}")
    print("learned something:", fake.curves["test_accuracy"][-1][1] > 0.5)
