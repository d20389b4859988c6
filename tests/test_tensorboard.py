"""TensorBoard's event files, read back: every number at its simulated second."""

import sys

import pytest
from typer.testing import CliRunner

from asyncfeel import InputError, Scenario, run
from asyncfeel.cli import app
from asyncfeel.recording import tables
from asyncfeel.tensorboard import TensorBoard

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def read(folder):
    """What the event files hold."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0, "tensors": 0})
    return events.Reload()


def test_scalars_are_the_tables_on_the_simulated_clock(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = "run --clients 6 --servers 3 --until 0.4s --executor serial --quiet --out out --log tensorboard"
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    events = read(tmp_path / "out")
    metrics, rows = (tables.read(tmp_path / "out", name) for name in ("metrics", "iterations"))
    assert set(events.Tags()["scalars"]) == {
        "train_loss", "test_loss", "test_accuracy", "consensus_distance_max", "staleness", "steps",
    }  # fmt: skip
    for name, table in [("train_loss", metrics), ("test_accuracy", metrics), ("staleness", rows)]:
        found = events.Scalars(name)
        assert [one.value for one in found] == pytest.approx(table[name].tolist(), rel=1e-6)
        assert [one.wall_time for one in found] == table["time_s"].tolist()
        assert [one.step for one in found] == [round(1000 * time_s) for time_s in table["time_s"].tolist()]


def test_texts_say_what_a_step_is_and_what_was_run(tmp_path):
    scenario = Scenario.load(clients=6, servers=3, iterations=2)
    result = run(scenario, tmp_path / "run", trackers=[TensorBoard()])
    events = read(result.folder)

    def text(name):
        return events.Tensors(f"{name}/text_summary")[0].tensor_proto.string_val[0].decode()

    assert "a step is a simulated millisecond" in text("clock")
    assert '"algorithm": "async-sd-feel"' in text("run")
    assert '"status": "finished"' in text("summary")


def test_in_long_runs_a_step_is_a_second(tmp_path):
    sizes = {"work.flops_per_step": 1e10, "network.model_bits": 1e8}
    scenario = Scenario.load(clients=6, servers=3, until=2000, set=sizes)
    result = run(scenario, tmp_path / "plan", train=False, trackers=[TensorBoard()])
    steps = [one.step for one in read(result.folder).Scalars("staleness")]
    assert steps == [round(time_s) for time_s in result.iterations["time_s"].tolist()]
    assert steps[-1] > 100


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"needs the package tensorboard: pip install 'asyncfeel\[tensorboard\]'"):
        TensorBoard()
