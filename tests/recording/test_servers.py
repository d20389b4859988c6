"""servers.csv: distances that a tiny world by hand agrees with, and tests of the servers' own models at the end."""

import math

import numpy as np
import pytest

from asyncfeel import Dataset, Scenario, run

RATE = 0.3
CENTRES, SAMPLES = np.array([1.0, -2.0, 4.0]), np.array([1, 3, 4])
SIZES = {"work.flops_per_step": 1e7, "network.model_bits": 1e5}


def points():
    """Three clients, each with copies of one number: the loss of client i is (w - c_i)^2 / 2."""
    train = np.repeat(CENTRES, SAMPLES)[:, None].astype(np.float32)
    labels = {"y_train": np.zeros(8, dtype=np.int64), "y_test": np.zeros(3, dtype=np.int64)}
    arrays = {"x_train": train, "x_test": CENTRES[:, None].astype(np.float32)} | labels
    return Dataset(
        arrays, owners=np.repeat(np.arange(3), SAMPLES), loss="half-square", curvature=np.ones(1, np.float32)
    )


@pytest.fixture
def scenario():
    keys = {"training.learning_rate": RATE, "training.batch": 4, "training.local_steps": 2, "split.kind": "natural"}
    return Scenario.load(
        dataset=f"{__file__}:points", clients=3, servers=3, iterations=9, executor="serial",
        set=SIZES | keys | {"evaluation.every_iterations": 2},
    )  # fmt: skip


def by_hand(result):
    """Every server's model after 0, 1, 2, ... iterations: a client each, exact gradients, the recorded matrices."""
    done, mixing = result.iterations, result.mixing
    models, sent = np.zeros(3), np.zeros(3)
    found = [models]
    for k, server in enumerate(done["server"].tolist()):
        client = int(np.flatnonzero(result.clients["server"] == server)[0])
        trained = CENTRES[client] + (sent[server] - CENTRES[client]) * (1 - RATE) ** done["steps_max"][k]
        models = models + (trained - sent[server]) * (np.arange(3) == server)
        matrix, now = np.eye(3), mixing["iteration"] == k
        matrix[mixing["source"][now], mixing["target"][now]] = mixing["weight"][now]
        models = matrix.T @ models
        sent[server] = models[server]
        found.append(models)
    return found


def test_distances_are_those_of_a_world_by_hand(scenario, tmp_path):
    result = run(scenario, tmp_path / "run")
    models, table = by_hand(result), result.servers
    held = np.bincount(result.clients["server"], result.clients["samples"]) / 8
    assert table["iteration"].tolist() == np.repeat([0, 2, 4, 6, 8, 9], 3).tolist()
    assert table["server"].tolist() == [0, 1, 2] * 6
    for row, k in enumerate(table["iteration"].tolist()):
        own = models[k][table["server"][row]]
        assert table["distance"][row] == pytest.approx(abs(own - held @ models[k]), abs=1e-5)
    assert table["distance"].max() > 0.1


def test_only_the_last_rows_have_losses_and_they_are_those_of_the_servers_own_models(scenario, tmp_path):
    result = run(scenario, tmp_path / "run")
    table, last = result.servers, by_hand(result)[-1]
    assert np.isnan(table["test_loss"][:-3]).all()
    losses = [((own - CENTRES) ** 2 / 2).mean() for own in last]
    assert table["test_loss"][-3:] == pytest.approx(losses, rel=1e-4)
    assert np.isnan(table["test_accuracy"]).all()


def test_evaluations_are_those_of_metrics_csv(tmp_path):
    result = run(Scenario.load(clients=6, servers=3, until=0.4, set={"evaluation.every_s": 0.1}), tmp_path / "run")
    for column in ("iteration", "time_s"):
        assert result.servers[column][::3].tolist() == result.metrics[column].tolist()
    assert np.isfinite(result.servers["test_accuracy"][-3:]).all()
    assert result.servers["distance"][:3].max() < 1e-6 < result.servers["distance"][-3:].min()


def test_plans_and_single_servers_have_no_such_file(tmp_path):
    plan = run(Scenario.load(iterations=3, set=SIZES), tmp_path / "plan", train=False)
    alone = run(Scenario.load(algorithm="fedasync", clients=3, servers=3, iterations=2), tmp_path / "alone")
    assert not (plan.folder / "servers.csv").exists()
    assert not (alone.folder / "servers.csv").exists()


def test_one_server_is_at_no_distance(tmp_path):
    result = run(Scenario.load(clients=2, servers=1, iterations=2), tmp_path / "run")
    assert set(result.servers["distance"].tolist()) == {0.0}


def test_a_failed_run_keeps_the_rows_it_had(scenario, tmp_path):
    class Broken:
        def start(self, facts): ...

        def log(self, values, *, time_s, iteration):
            if iteration == 5:
                raise ValueError("no more")

        def finish(self, summary): ...

    with pytest.raises(Exception, match="no more"):
        run(scenario, tmp_path / "run", trackers=[Broken()])
    rows = (tmp_path / "run" / "servers.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows[1::3]] == ["0", "2", "4", "6"]
    assert all(math.isnan(float(row.split(",")[-1])) for row in rows[1:])
