"""Five lines from a scenario to its tables as plain arrays."""

import tempfile

from asyncfeel import Scenario, run

scenario = Scenario.load(
    topology="ring", psi="inverse", clients=12, servers=4, until="1.5s", set={"training.learning_rate": 0.05}
)
result = run(scenario, tempfile.mkdtemp())
accuracy, time_s = result.metrics["test_accuracy"], result.metrics["time_s"]
print("iterations per server:", [int((result.iterations["server"] == server).sum()) for server in range(4)])
print("mean staleness at completion:", round(float(result.iterations["staleness"].mean()), 3))
print("learned something:", bool(accuracy[-1] > 0.5 > accuracy[0]), "by simulated second", float(time_s[-1]))
