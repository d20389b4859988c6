"""What evaluations find: the newest and the best in the summary, and which servers are tested at the end."""

import numpy as np
import pytest

from asyncfeel import Scenario, run

SIZES = {"work.flops_per_step": 1e7, "network.model_bits": 1e5}


def test_the_summary_has_the_last_measurement_and_the_best_accuracy(tmp_path):
    keys = {"evaluation.every_s": 0.05, "training.learning_rate": 0.05}
    result = run(Scenario.load(clients=6, servers=3, until=0.8, set=keys), tmp_path / "run")
    assert result.summary["metrics"] == {name: values[-1] for name, values in result.metrics.items()}
    assert result.summary["best_accuracy"] == result.metrics["test_accuracy"].max()


def test_a_task_without_classes_has_no_best_accuracy(tmp_path):
    result = run(Scenario.load(dataset="quadratic", clients=3, servers=3, iterations=2, set=SIZES), tmp_path / "run")
    assert result.summary["best_accuracy"] is None
    assert np.isnan(result.metrics["test_accuracy"]).all()


@pytest.mark.parametrize(("servers", "tested"), [(64, True), (65, False)])
def test_of_more_than_64_servers_none_is_tested_on_its_own(tmp_path, servers, tested):
    scenario = Scenario.load(
        dataset="quadratic", clients=servers, servers=servers, iterations=2, executor="serial", set=SIZES
    )
    losses = run(scenario, tmp_path / "run").servers["test_loss"][-servers:]
    assert np.isfinite(losses).all() == tested
    assert np.isnan(losses).all() != tested
