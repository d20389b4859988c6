"""The command as people use it: what it prints, what it leaves behind, how it ends."""

import csv
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import asyncfeel
from asyncfeel import Scenario, catalogue
from asyncfeel.cli import app
from asyncfeel.plugins import Plugin

CHECKOUT = Path(asyncfeel.__file__).parent.parent
FLAGS = shlex.split(
    "--algorithm --topology --psi --mixing --servers --clients --heterogeneity --dataset --data-dir --model --until "
    "--iterations --seed --executor --workers --device --ray-address --out --config --preset --set --quiet --json"
)
TINY = "--until 0.3 --clients 6 --servers 3 --set evaluation.every_s=0.1 "
NUMBERS = "--set work.flops_per_step=1e6 --set network.model_bits=1e5 "
SCHEDULE = ("clients.csv", "topology.json", "iterations.csv", "staleness.csv", "mixing.csv")
TRAINED = ("metrics.csv", "servers.csv", "model.safetensors")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asks(line: str) -> str:
    """What a command that succeeds prints; nothing may go to stderr, and nothing may be a control code."""
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 0, result.stderr or repr(result.exception)
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    return result.stdout


def manifest(folder: str) -> dict:
    return json.loads(Path(folder, "manifest.json").read_text(), parse_constant=no_number)


def no_number(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def rows(folder: str, name: str) -> list[dict[str, str]]:
    with Path(folder, f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny run with real training: its folder and what was printed."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    return folder, asks(f"run {TINY} --out {folder}")


@pytest.mark.parametrize("command", ["run", "plan"])
def test_help_shows_every_flag_exactly_as_promised(command):
    words = re.findall(r"--[a-z-]+", asks(f"{command} --help"))
    own = ["--force", "--log", "--resume"] if command == "run" else ["--force"]
    assert sorted(set(words)) == sorted([*FLAGS, *own, "--help"])


def test_help_shows_every_command():
    shown = asks("--help")
    assert all(re.search(rf"^  {command} +\S", shown, re.M) for command in ("run", "plan", "list", "init", "show"))


@pytest.mark.parametrize("command", ["list", "init", "show"])
def test_help_of_the_small_commands(command):
    assert f"asyncfeel {command}" in asks(f"{command} --help").replace("root ", "asyncfeel ")


def test_version():
    assert asks("--version") == f"asyncfeel {asyncfeel.__version__}\n"


LISTED = {
    "algorithm": ("async-sd-feel", "sync-sd-feel"),
    "topology": ("ring", "grid", "random", "random-regular", "small-world", "star", "line", "complete", "tree"),
    "psi": ("inverse", "constant", "polynomial", "hinge", "exponential", "harmonic", "threshold", "bound", "sigmoid"),
    "dataset": ("digits", "synthetic", "quadratic", "mnist", "cifar10"),
    "split": ("dirichlet", "iid", "shards", "natural", "bootstrap"),
    "model": ("cnn", "mlp", "logistic", "resnet18", "point"),
    "speeds": ("uniform", "log-uniform", "two-point", "log-normal", "exponential", "file"),
    "drift": ("none", "jitter", "daily"),
    "fading": ("none", "jitter", "daily"),
    "executor": ("serial", "threads", "stub"),
    "preset": ("quick", "paper", "paper-small"),
}


def described(text: str) -> dict[str, str]:
    """The names in a list with the beginnings of their descriptions."""
    return dict(re.findall(r"^  ([^\s]+) +(\S.*?) *$", text, re.M))


@pytest.mark.parametrize("what", LISTED)
def test_list_shows_every_name_with_a_description(what):
    assert set(LISTED[what]) <= set(described(asks(f"list {what}")))


def test_list_of_everything_is_all_the_lists():
    everything = described(asks("list"))
    assert {name for names in LISTED.values() for name in names} <= set(everything)
    assert all(everything.values())


@pytest.mark.parametrize("what", LISTED)
def test_list_takes_the_plural_too(what):
    plural = {"topology": "topologies", "speeds": "speeds", "fading": "fading"}.get(what, f"{what}s")
    assert asks(f"list {plural}") == asks(f"list {what}")


def test_the_default_of_every_choice_is_on_the_list():
    defaults = {name: value.kind for name, value in vars(Scenario()).items() if isinstance(value, Plugin)}
    missing = {name: kind for name, kind in defaults.items() if kind not in described(asks(f"list {name}"))}
    assert missing == {}


@pytest.mark.parametrize("preset", ["quick", "paper", "paper-small"])
def test_init_writes_a_file_that_is_the_preset(preset):
    assert "s.toml" in asks(f"init s.toml --preset {preset}")
    loaded, wanted = Scenario.load(config="s.toml"), Scenario.load(preset)
    assert loaded.training == wanted.training
    assert loaded.stop == wanted.stop
    assert loaded.network == wanted.network
    assert loaded.dataset.kind == wanted.dataset.kind


def test_init_explains_every_key():
    asks("init s.toml")
    text = Path("s.toml").read_text()
    assert tomllib.loads(text)
    keys = [line for line in text.splitlines() if re.match(r"\w+ = ", line)]
    assert [line for line in keys if " # " not in line] == []
    assert [line for line in text.splitlines() if line.startswith("[") and " # " not in line] == []


def test_init_names_the_keys_that_may_be_set_as_well():
    asks("init s.toml")
    text = Path("s.toml").read_text()
    assert all(key in text for key in ("servers", "downlink_bps", "cloud_bps", "iterations", "patience", "every_s"))
    assert all(key in text for key in ("min_steps", "deadline_s"))


def test_a_file_from_init_runs_as_if_it_were_not_there():
    asks("init s.toml")
    asks(f"plan --iterations 20 {NUMBERS} --config s.toml --out with")
    asks(f"plan --iterations 20 {NUMBERS} --out without")
    for name in SCHEDULE:
        assert Path("with", name).read_bytes() == Path("without", name).read_bytes()


def test_init_overwrites_when_told_to():
    Path("s.toml").write_text("precious")
    asks("init s.toml --force")
    assert "precious" not in Path("s.toml").read_text()


def test_run_leaves_a_complete_folder(trained):
    folder, _ = trained
    expected = {*SCHEDULE, *TRAINED, "config.toml", "manifest.json"}
    assert {path.name for path in folder.iterdir()} == expected
    facts = manifest(folder)
    assert (facts["status"], facts["kind"], facts["seed"]) == ("finished", "run", 1)
    assert len({row["iteration"] for row in rows(folder, "iterations")}) == facts["iterations"] > 0


def test_run_prints_plain_lines_a_table_and_the_folder(trained):
    folder, printed = trained
    lines = [line.rstrip() for line in printed.splitlines()]
    assert "3 servers (ring), 6 clients" in lines[0]
    assert sum("test accuracy" in line and "simulated" in line for line in lines) == len(rows(folder, "metrics"))
    assert any(line.startswith("run ") and "finished" in line for line in lines)
    table = next(number for number, line in enumerate(lines) if line.startswith("server ") and "staleness" in line)
    assert [line.split()[0] for line in lines[table + 1 : table + 4]] == ["0", "1", "2"]
    assert lines[-1] == str(folder)


def test_the_table_has_the_staleness_of_every_server(trained):
    folder, printed = trained
    for server in range(3):
        own = [int(row["staleness"]) for row in rows(folder, "iterations") if row["server"] == str(server)]
        (line,) = re.findall(rf"^ *{server} +\d.*$", printed, re.M)
        assert line.split()[-2:] == [f"{sum(own) / len(own):.2f}", str(max(own))]


CHOICES = [
    (what, kind)
    for what in ("algorithm", "psi", "topology", "speeds", "drift", "fading", "split")
    for kind in catalogue.names(what)
    if kind not in ("file", "natural")
]


@pytest.mark.parametrize(("what", "kind"), CHOICES)
def test_everything_on_the_list_can_be_planned_as_it_is(what, kind):
    asks(f"plan {NUMBERS} --iterations 8 --set {what}.kind={kind} --out out")
    facts = manifest("out")
    assert facts["status"] == "finished"
    assert facts["iterations"] == 8


@pytest.mark.parametrize("algorithm", catalogue.names("algorithm"))
def test_every_algorithm_trains_in_the_world_of_its_plan(algorithm):
    arguments = f"--algorithm {algorithm} --iterations 3 --clients 6 --servers 3 --executor serial --model logistic"
    asks(f"run {arguments} --out run")
    asks(f"plan {arguments} --out plan")
    assert manifest("run")["metrics"]["iteration"] == 3
    assert manifest("run")["digests"]["schedule"] == manifest("plan")["digests"]["schedule"]


def test_plan_is_the_same_world_without_training(trained):
    folder, _ = trained
    printed = asks(f"plan {TINY} --out plan")
    for name in SCHEDULE:
        assert Path("plan", name).read_bytes() == (folder / name).read_bytes()
    assert not any(Path("plan", name).exists() for name in TRAINED)
    assert manifest("plan")["kind"] == "plan"
    assert "plan " in printed
    assert "loss" not in printed


def test_a_stub_run_is_a_plan():
    asks(f"run {TINY} --executor stub --out stub")
    asks(f"plan {TINY} --out plan")
    assert Path("stub/iterations.csv").read_bytes() == Path("plan/iterations.csv").read_bytes()
    assert not Path("stub/model.safetensors").exists()


def test_the_order_of_authority_on_the_command_line():
    Path("s.toml").write_text("seed = 2\n[stop]\niterations = 7\n[federation]\nclients = 12\n")
    asks(f"plan {NUMBERS} --config s.toml --set seed=3 --set federation.clients=18 --seed 4 --out out")
    used = tomllib.loads(Path("out/config.toml").read_text())
    assert (used["seed"], used["federation"]["clients"], used["stop"]["iterations"]) == (4, 18, 7)


def test_time_limits_with_units():
    asks(f"plan {NUMBERS} --until 0.05m --out out")
    assert tomllib.loads(Path("out/config.toml").read_text())["stop"]["until_s"] == 3.0


def test_folders_are_numbered_where_names_are_taken():
    first, second = (asks(f"plan {NUMBERS} --iterations 2 --quiet").strip() for _ in range(2))
    assert first != second
    assert Path(first).is_dir()
    assert Path(second).is_dir()


def test_quiet_prints_the_folder_and_nothing_else():
    assert asks(f"plan {NUMBERS} --iterations 2 --quiet --out out") == "out\n"


def test_json_is_one_object_and_nothing_else(trained):
    summary = json.loads(asks(f"plan {NUMBERS} --iterations 4 --json --out out"), parse_constant=no_number)
    assert (summary["folder"], summary["status"], summary["iterations"]) == ("out", "finished", 4)
    assert [server["server"] for server in summary["servers"]] == list(range(6))


def test_json_of_a_task_without_accuracy_is_json():
    command = f"run --dataset quadratic {NUMBERS} --clients 6 --servers 3 --iterations 3 --executor serial --json"
    summary = json.loads(asks(f"{command} --out out"), parse_constant=no_number)
    assert summary["metrics"]["train_loss"] > 0
    assert manifest("out")["status"] == "finished"


def test_data_with_clients_of_their_own():
    asks("run --dataset synthetic --clients 6 --servers 3 --iterations 2 --executor serial --out out")
    assert tomllib.loads(Path("out/config.toml").read_text())["split"]["kind"] == "natural"


@pytest.mark.parametrize(("clients", "kind"), [(100, "dirichlet"), (144, "bootstrap"), (5000, "bootstrap")])
def test_more_clients_than_the_data_have_batches_share_them(clients, kind):
    asks(
        f"plan {NUMBERS} --clients {clients} --iterations 2 --set split.alpha=9 --out out"
        if kind == "dirichlet"
        else f"plan {NUMBERS} --clients {clients} --iterations 2 --out out"
    )
    split = tomllib.loads(Path("out/config.toml").read_text())["split"]
    assert split == ({"kind": "dirichlet", "alpha": 9.0} if kind == "dirichlet" else {"kind": kind, "samples": 50})


def test_clients_that_share_samples_are_trained():
    few = "--clients 300 --servers 3 --iterations 3 --set split.samples=5 --set training.local_steps=1"
    asks(f"run {NUMBERS} {few} --executor serial --out out")
    assert {line.split(",")[2] for line in Path("out/clients.csv").read_text().splitlines()[1:]} == {"5"}
    assert manifest("out")["status"] == "finished"


@pytest.mark.parametrize("name", ["out[bold]x", "out[/]", ":smile:", "with space", "größe"])
def test_the_folder_is_printed_as_it_is_called(name):
    printed = asks(f"plan {NUMBERS} --iterations 2 --out {shlex.quote(name)}")
    assert printed.splitlines()[-1] == name
    assert asks(f"show {shlex.quote(name)}").splitlines()[-1] == name


def test_a_training_that_diverges_ends_with_a_summary_all_the_same():
    arguments = "--clients 6 --servers 3 --iterations 2 --executor serial --set training.learning_rate=1e30"
    assert "finished" in asks(f"run {arguments} --set training.on_divergence=skip --out out")
    assert "results of clients were left out" in asks("show out")
    assert manifest("out")["diverged"] > 0


def test_a_map_is_named_as_it_is_called():
    graph = {"directed": False, "multigraph": False, "nodes": [{"id": 0}, {"id": 1}]}
    Path("m[bold].json").write_text(json.dumps(graph | {"edges": [{"source": 0, "target": 1}]}))
    asks(f"plan {NUMBERS} --iterations 2 --topology m[bold].json --out out")
    assert "m[bold].json" in asks("show out")


def test_a_description_is_shown_as_it_is_written():
    Path("topologies").mkdir()
    Path("topologies/mesh.py").write_text('"""Links [bold] and [/] to the next."""\n')
    assert "Links [bold] and [/] to the next." in asks("list topology")


def test_show_repeats_the_summary(trained):
    folder, printed = trained
    shown = asks(f"show {folder}")
    assert printed.endswith(shown)
    assert json.loads(asks(f"show {folder} --json"))["iterations"] == manifest(folder)["iterations"]


def unfinished(process: int) -> None:
    """A run folder as it is while its process works on it, the last row half-written."""
    asks(f"plan {NUMBERS} --iterations 12 --out out")
    path = Path("out/manifest.json")
    facts = json.loads(path.read_text())
    for key in ("servers", "iterations", "time_s", "steps", "consensus", "digests", "wall", "metrics"):
        facts.pop(key, None)
    path.write_text(json.dumps(facts | {"status": "running", "process": process}))
    with Path("out/iterations.csv").open("a") as table:
        table.write("12,0.5")


def test_show_of_a_run_that_is_still_running():
    unfinished(os.getpid())
    shown = asks("show out")
    assert "running" in shown
    assert "12 iterations" in shown


def test_show_of_a_run_that_was_killed():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    unfinished(gone.pid)
    assert "killed" in asks("show out")
    assert json.loads(asks("show out --json"))["status"] == "killed"


def test_show_of_a_killed_run_without_accuracy():
    asks(f"run --dataset quadratic {NUMBERS} --clients 6 --servers 3 --iterations 3 --executor serial --out out")
    path = Path("out/manifest.json")
    facts = json.loads(path.read_text())
    del facts["servers"]
    path.write_text(json.dumps(facts | {"status": "running"}))
    assert "nan" not in asks("show out")
    assert json.loads(asks("show out --json"), parse_constant=no_number)["best_accuracy"] is None


def test_show_of_a_run_that_has_just_begun():
    unfinished(os.getpid())
    for name in ("iterations", "staleness", "mixing"):
        path = Path("out", f"{name}.csv")
        path.write_text(path.read_text().partition("\n")[0] + "\n")
    assert "0 iterations" in asks("show out")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "asyncfeel", *arguments]


@pytest.mark.parametrize("program", [["-m", "asyncfeel"], [str(CHECKOUT / "cli.py")]], ids=["module", "cli.py"])
def test_other_ways_to_start_it(program):
    done = subprocess.run([sys.executable, *program, "list", "psi"], capture_output=True, text=True, check=True)
    assert done.stdout == asks("list psi")
    assert done.stderr == ""


def test_a_broken_module_is_one_line_however_it_is_started():
    Path("mine.py").write_text("raise ValueError('boom')\n")
    arguments = shlex.split(f"plan {NUMBERS} --iterations 2 --psi mine:f")
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"error: .*boom.*\n", done.stderr)


def test_the_schedule_does_not_depend_on_the_hash_seed():
    arguments = shlex.split(f"plan {NUMBERS} --iterations 20 --topology random-regular --quiet")
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run(command(*arguments, "--out", seed), env=environment, check=True, stdout=subprocess.DEVNULL)
    for name in SCHEDULE:
        assert Path("1", name).read_bytes() == Path("2", name).read_bytes()


def wait_for_iterations(process: subprocess.Popen, count: int) -> None:
    path = Path("out/iterations.csv")
    for _ in range(600):
        if path.is_file() and path.read_text().count("\n") > count:
            return
        assert process.poll() is None, "the run ended too early"
        time.sleep(0.1)
    raise AssertionError("the run never began")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminated"])
def test_a_run_that_is_interrupted_ends_cleanly(number):
    arguments = shlex.split("run --until 100h --clients 6 --servers 3 --device cpu --out out")
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_iterations(process, 3)
    process.send_signal(number)
    printed, complaint = process.communicate(timeout=60)
    assert process.returncode == 130 if number == signal.SIGINT else process.returncode != 0
    assert complaint == "interrupted: 'asyncfeel resume out' goes on\n"
    assert "\x1b" not in printed
    assert_readable("out", "interrupted")


def assert_readable(folder: str, status: str) -> None:
    """Every file is closed and complete, and the summary can be shown."""
    facts = manifest(folder)
    assert facts["status"] == status
    assert len(rows(folder, "iterations")) == facts["iterations"] >= 3
    assert len(rows(folder, "staleness")) == 3 * facts["iterations"]
    assert all(Path(folder, name).read_bytes().endswith(b"\n") for name in SCHEDULE)
    assert Path(folder, "model.safetensors").is_file()
    assert not list(Path(folder).glob("*.part"))
    assert status in asks(f"show {folder}")


def in_a_terminal(*arguments: str) -> str:
    """What a command draws in a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "CI")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(command(*arguments), stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    drawn = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        drawn += piece
    os.close(ours)
    assert process.wait(60) == 0, drawn.decode()
    return drawn.decode()


def test_a_terminal_shows_a_live_view():
    drawn = in_a_terminal(*shlex.split("run --until 1.5 --clients 6 --servers 3 --device cpu --out out"))
    assert "\x1b[" in drawn
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn)
    assert re.search(r"server +iterations +staleness +doing", plain)
    for server in range(3):
        assert re.search(rf"{server} +\d+ +\d+ +(training|uploading|exchanging|waiting)", plain)
    assert re.search(r"simulated \S+ s of 1.5 s · iteration \d+", plain)
    assert "━simulated" not in plain
    assert "\x1b[?25h" in drawn, "the cursor is shown again"
    assert plain.rstrip().endswith("out")
