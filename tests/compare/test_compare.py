"""`asyncfeel compare` as people use it: what it prints, what it leaves behind, how it goes on."""

import csv
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asyncfeel import InputError, Scenario
from asyncfeel.cli import app
from asyncfeel.compare import runner
from asyncfeel.compare.request import Request
from asyncfeel.compare.runner import compare

TINY = "compare --clients 6 --servers 3 --until 0.4 --set training.local_steps=3 --set evaluation.every_s=0.1 "
PLAN = "compare --executor stub --iterations 5 --set work.flops_per_step=1e6 --set network.model_bits=1e5 "
PSIS = f"{TINY} --vary psi.kind=inverse,constant --seeds 1..2 --target 0.01,0.999 "
NAMES = [f"psi={psi}-seed{seed}" for seed in (1, 2) for psi in ("inverse", "constant")]
PLANNED = Request(
    Scenario.load(iterations=5, executor="stub", set={"work.flops_per_step": 1e6, "network.model_bits": 1e5}),
    {"psi.kind": ("inverse", "hinge")},
    (1, 2),
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(line, code=0):
    """What a command prints; nothing may be a control code."""
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == code, result.stderr or repr(result.exception)
    assert "\x1b" not in result.output
    assert (result.stderr == "") == (code == 0)
    return result


def refused(line, *fragments):
    """The command is refused in one line that has all the fragments."""
    result = invoke(line, 2)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    for fragment in fragments:
        assert fragment in result.stderr


def rows(folder, name):
    with Path(folder, f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def manifests(folder):
    return {path.parent.name: path.read_bytes() for path in sorted(Path(folder).glob("runs/*/manifest.json"))}


def edit(path, **facts):
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def no_number(name):
    raise AssertionError(f"{name} is no JSON")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two staleness functions with two seeds: the folder and what was printed."""
    folder = tmp_path_factory.mktemp("trained") / "out"
    return folder, invoke(f"{PSIS} --out {folder}").stdout


@pytest.fixture
def copied(trained):
    """A copy of that comparison to go on with."""
    shutil.copytree(trained[0], "out")
    return Path("out")


def test_one_folder_with_a_run_each_and_two_tables(trained):
    folder, _ = trained
    assert {path.name for path in folder.iterdir()} == {"comparison.toml", "comparison.csv", "table.csv", "runs"}
    assert sorted(path.name for path in (folder / "runs").iterdir()) == sorted(NAMES)
    for row in rows(folder, "comparison"):
        facts = json.loads((folder / row["folder"] / "manifest.json").read_text())
        assert (facts["status"], facts["psi"], str(facts["seed"])) == ("finished", row["psi.kind"], row["seed"])
        assert (int(row["iterations"]), float(row["final_accuracy"])) == (
            facts["iterations"],
            facts["metrics"]["test_accuracy"],
        )


def test_the_table_has_means_over_the_seeds_and_targets(trained):
    folder, _ = trained
    runs, variants = rows(folder, "comparison"), rows(folder, "table")
    assert [row["variant"] for row in variants] == ["psi=inverse", "psi=constant"]
    for row in variants:
        final = [float(run["final_accuracy"]) for run in runs if run["variant"] == row["variant"]]
        assert float(row["final_accuracy_mean"]) == pytest.approx(sum(final) / 2)
        assert float(row["final_accuracy_std"]) == pytest.approx(abs(final[0] - final[1]) / 2**0.5)
        assert (row["runs"], row["finished"], row["reached_0.01"], row["reached_0.999"]) == ("2", "2", "2", "0")
        assert (row["time_to_0.01_s_mean"], row["time_to_0.999_s_mean"]) == ("0.0", "")


def test_another_psi_makes_a_paired_comparison(trained):
    assert [row["paired"] for row in rows(trained[0], "comparison")] == ["A"] * 4
    assert [row["paired"] for row in rows(trained[0], "table")] == ["A", "A"]


def test_another_algorithm_does_not():
    invoke(f"{PLAN} --algorithms async-sd-feel,sync-sd-feel --out out")
    assert [row["paired"] for row in rows("out", "table")] == ["-", "-"]


def test_piped_it_prints_plain_lines_the_table_and_the_folder(trained):
    folder, printed = trained
    lines = [line.rstrip() for line in printed.splitlines()]
    assert lines[0] == "comparing 2 variants over 2 seeds: 4 runs, 0 finished already"
    assert lines[1] == f"recording to {folder}"
    assert [line for line in lines if re.fullmatch(r"\[\d/4\] [^:]*", line)] == [
        f"[{number}/4] psi={psi}, seed {seed}"
        for number, seed, psi in [(1, 1, "inverse"), (2, 1, "constant"), (3, 2, "inverse"), (4, 2, "constant")]
    ]
    assert sum("finished · test accuracy" in line and "0.999 not reached" in line for line in lines) == 4
    (heading,) = [line for line in lines if line.startswith("variant ")]
    assert "final accuracy" in heading
    assert any(re.match(r"psi=constant +2/2 +A +0 s ± 0 s \(2/2\) +never \(0/2\) +\S+% ± \S+%", line) for line in lines)
    assert lines[-1] == str(folder)


def test_running_it_again_skips_what_is_finished(copied):
    before = manifests(copied)
    printed = invoke(f"{PSIS} --out out").stdout
    assert manifests(copied) == before
    assert "4 runs, 4 finished already" in printed
    assert "[1/4]" not in printed


@pytest.mark.parametrize("status", ["interrupted", "failed", "running"])
def test_a_run_that_did_not_finish_is_run_again(copied, status):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    before, digests = manifests(copied), rows(copied, "comparison")[1]["schedule"]
    edit(copied / "runs" / NAMES[1] / "manifest.json", status=status, process=gone.pid)
    (copied / "runs" / NAMES[1] / "leftover").touch()
    assert "[4/4] psi=constant, seed 1" in invoke(f"{PSIS} --out out").stdout
    after = manifests(copied)
    assert [name for name in NAMES if after[name] != before[name]] == [NAMES[1]]
    assert not (copied / "runs" / NAMES[1] / "leftover").exists()
    assert rows(copied, "comparison")[1]["schedule"] == digests


def test_the_folder_alone_is_enough_to_go_on_and_targets_may_change(copied):
    before = manifests(copied)
    shutil.rmtree(copied / "runs" / NAMES[3])
    found = json.loads(invoke("compare --out out --target 0.02 --json").stdout)
    assert found["targets"] == [0.02]
    assert [row["reached_0.02"] for row in found["variants"]] == [2, 2]
    assert all(manifests(copied)[name] == before[name] for name in NAMES[:3])
    assert tomllib.loads(Path("out/comparison.toml").read_text())["targets"] == [0.02]
    assert json.loads(invoke("compare --out out --json").stdout)["targets"] == [0.02]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (f"{TINY} --vary psi.kind=inverse,constant --seeds 1..3", "differs in the seeds:"),
        (f"{TINY} --vary psi.kind=inverse,hinge --seeds 1..2", "differs in the variants:"),
        (f"{TINY} --vary psi.kind=inverse,constant --seeds 1..2 --model mlp", "differs in the scenario:"),
        (f"{TINY} --algorithms async-sd-feel --seeds 1..3", "differs in the variants and the seeds:"),
    ],
)
def test_another_comparison_in_the_same_folder_is_refused(copied, line, what):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    refused(f"{line} --out out", "'out' holds another comparison", what)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before


def test_a_run_that_is_going_on_is_left_alone(copied):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        edit(copied / "runs" / NAMES[0] / "manifest.json", status="running", process=other.pid)
        refused(f"{PSIS} --out out", f"is going on in process {other.pid}")
        other.communicate(b"\n")


def test_a_finished_run_of_another_scenario_is_left_alone(copied):
    config = copied / "runs" / NAMES[0] / "config.toml"
    config.write_text(config.read_text().replace("batch = 10", "batch = 11"))
    before = manifests(copied)
    refused(f"{PSIS} --out out", NAMES[0], "another scenario: move it away")
    assert manifests(copied) == before


def test_a_folder_of_something_else_is_left_alone(folder):
    Path("out").mkdir()
    Path("out/precious").touch()
    refused(f"{PSIS} --out out", "'out' is not empty and holds no comparison")
    Path("file").touch()
    refused(f"{PSIS} --out file", "'file' cannot be made")
    assert sorted(path.name for path in folder.rglob("*")) == ["file", "out", "precious"]


def test_a_variant_that_fails_does_not_lose_the_others():
    result = invoke(f"{TINY} --until 0.2 --vary clients=2,6 --out out", 1)
    assert result.stderr == "error: 1 of 2 runs failed\n"
    assert re.search(r"^failed: clients=2, seed 1: 2 clients cannot serve 3 servers", result.stdout, re.M)
    failed, finished = rows("out", "comparison")
    assert (failed["status"], failed["final_accuracy"]) == ("failed", "")
    assert "2 clients cannot serve 3 servers" in failed["message"]
    assert (finished["status"], finished["message"]) == ("finished", "")
    assert "2 clients cannot serve 3 servers" in rows("out", "table")[0]["message"]
    before = manifests("out")
    invoke("compare --out out --quiet", 1)
    assert manifests("out") == before


def test_an_error_of_any_kind_is_recorded_with_its_type(monkeypatch):
    def simulate(scenario, *arguments, **keywords):
        if scenario.psi.kind == "hinge":
            raise MemoryError("out of\nmemory")
        return whole(scenario, *arguments, **keywords)

    whole = runner.simulate
    monkeypatch.setattr(runner, "simulate", simulate)
    found = compare(PLANNED, "out")
    assert found.status == "failed"
    assert [row["status"] for row in found.runs] == ["finished", "failed"] * 2
    assert found.variants[1]["message"] == "MemoryError: out of memory"
    monkeypatch.setattr(runner, "simulate", whole)
    assert compare(PLANNED, "out").status == "finished"


def test_the_tables_are_up_to_date_after_every_run():
    class Looking(runner.Silent):
        def end(self, outcome):
            seen.append([row["status"] for row in rows("out", "comparison")].count("finished"))

    seen = []
    compare(PLANNED, "out", view=Looking())
    assert seen == [1, 2, 3, 4]


def test_stopping_keeps_what_is_finished():
    class Stopping(runner.Silent):
        def end(self, outcome):
            stop.set()

    stop = threading.Event()
    found = compare(PLANNED, "out", view=Stopping(), stop=stop)
    assert (found.status, found.count("finished"), found.count("waiting")) == ("interrupted", 1, 3)
    before = manifests("out")
    found = compare(PLANNED, "out")
    assert (found.status, found.count("finished")) == ("finished", 4)
    assert before.items() <= manifests("out").items()


def test_a_plan_has_a_schedule_and_no_accuracy():
    printed = invoke(f"{PLAN} --vary psi=inverse,hinge --seeds 1,2 --target 0.9 --out out").stdout
    assert "accuracy" not in printed
    assert "time to" not in printed
    assert [row["final_accuracy_mean"] for row in rows("out", "table")] == ["", ""]
    assert [row["paired"] for row in rows("out", "table")] == ["A", "A"]


def test_json_is_one_object_and_nothing_else():
    line = f"{TINY} --dataset quadratic --iterations 3 --vary psi=inverse,hinge --target 0.9 --json --out out"
    found = json.loads(invoke(line).stdout, parse_constant=no_number)
    assert (found["folder"], found["status"], found["targets"]) == ("out", "finished", [0.9])
    assert [row["variant"] for row in found["variants"]] == ["psi=inverse", "psi=hinge"]
    assert [row["seed"] for row in found["runs"]] == [1, 1]
    assert found["variants"][0]["time_to_0.9_s_mean"] is found["variants"][0]["final_accuracy_mean"] is None


def test_quiet_prints_the_folder_and_nothing_else_and_folders_are_numbered():
    line = f"{PLAN} --vary psi=inverse,hinge --quiet"
    assert invoke(line).stdout == "comparisons/psi\n"
    assert invoke(line).stdout == "comparisons/psi-2\n"
    assert invoke(f"{PLAN} --seeds 4..5 --quiet").stdout == "comparisons/seeds\n"
    assert [row["variant"] for row in rows("comparisons/seeds", "table")] == ["async-sd-feel"]


def test_short_names_units_and_tables_as_values():
    invoke(f"{PLAN} --vary heterogeneity=2,5 --vary 'psi=inverse,{{kind=\"hinge\",b=2}}' --seed 3 --out out")
    assert sorted(path.name for path in Path("out/runs").iterdir()) == [
        f"heterogeneity={gap},psi={psi}-seed3" for gap in (2, 5) for psi in ("hinge-b=2", "inverse")
    ]
    used = tomllib.loads(Path("out/runs/heterogeneity=5,psi=hinge-b=2-seed3/config.toml").read_text())
    assert (used["psi"]["b"], used["speeds"]["heterogeneity"], used["seed"]) == (2.0, 5.0, 3)
    assert [row["psi.kind"] for row in rows("out", "table")] == ["inverse", "hinge(b=2)"] * 2


def test_what_is_varied_is_stronger_than_what_is_set():
    given = "--seed 9 --algorithm sync-sd-feel --psi inverse --set psi=inverse --set federation.clients=12 --clients 18"
    varied = "--seeds 1 --algorithms async-sd-feel --vary psi=hinge --vary clients=30"
    invoke(f"{PLAN} {given} {varied} --out out")
    (row,) = rows("out", "comparison")
    used = tomllib.loads(Path("out", row["folder"], "config.toml").read_text())
    assert (used["seed"], used["federation"]["clients"]) == (1, 30)
    assert (used["algorithm"]["kind"], used["psi"]["kind"]) == ("async-sd-feel", "hinge")


@pytest.mark.parametrize("name", ["out[bold]x", ":smile:", "with space"])
def test_the_folder_is_printed_as_it_is_called(name):
    printed = invoke(f"{PLAN} --vary 'data_dir=[red]a,b c' --out {shlex.quote(name)}").stdout
    assert printed.splitlines()[-1] == name
    assert re.search(r"^data_dir=\[red\]a +1/1", printed, re.M)


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        ("", "nothing to compare: give --algorithms, --vary or --seeds"),
        ("--topology ring --target 0.9", "nothing to compare"),
        ("--seeds 3..1", "'3..1' is empty"),
        ("--seeds 1 --target 90", "test accuracy above 0 and up to 1"),
        ("--algorithms async-sd-feel,nope", "variant 'nope': algorithm 'nope' is unknown: there are "),
        ("--vary psi=inverse,nope", "psi 'nope' is unknown"),
        ("--vary psi.b=1,2", "psi has no option 'b'"),
        ("--vary nope=1,2", "key 'nope' is unknown"),
        ("--vary clients=6,0", "federation.clients must be at least 1"),
        ("--vary clients=6,six", "federation.clients must be a whole number"),
        ("--vary topology=ring,nope.json", "nope.json"),
        ("--seeds 1,2 --preset nope", "preset 'nope' is unknown"),
        ("--seeds 1,2 --config nope.toml", "'nope.toml' cannot be read"),
        ("--seeds 1,2 --set nope=1", "--set: key 'nope' is unknown"),
        ("--algorithms async-sd-feel,sync-sd-feel --mixing weighted", "variant 'sync-sd-feel'"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_created(folder, flags, fragment):
    refused(f"compare {flags}", fragment)
    assert list(folder.iterdir()) == []


def test_help_shows_every_flag():
    promised = shlex.split(
        "--algorithms --seeds --target --vary --algorithm --topology --psi --mixing --servers --clients "
        "--heterogeneity --dataset --data-dir --model --until --iterations --seed --executor --workers --device "
        "--ray-address "
        "--out --config --preset --set --quiet --json --help"
    )
    assert sorted(set(re.findall(r"--[a-z-]+", invoke("compare --help").stdout)) - {"--"}) == sorted(promised)


def test_python_sees_the_errors_themselves():
    with pytest.raises(InputError, match="psi 'nope' is unknown"):
        compare(Request(PLANNED.scenario, {"psi.kind": ("nope",)}), "out")
    assert not Path("out").exists()
    compare(PLANNED, "out")
    with pytest.raises(InputError, match="another comparison, which differs in the seeds"):
        compare(Request(PLANNED.scenario, PLANNED.axes, (7,)), "out")


def command(line):
    return [sys.executable, "-m", "asyncfeel", *shlex.split(line)]


def test_ctrl_c_keeps_what_is_finished():
    line = "compare --clients 6 --servers 3 --device cpu --vary until=0.2,100h --out out"
    process = subprocess.Popen(command(line), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    path = Path("out/runs/until=100h-seed1/iterations.csv")
    for _ in range(600):
        if path.is_file() and path.read_text().count("\n") > 3:
            break
        assert process.poll() is None, "it ended too early"
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    printed, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complaint == "interrupted: 1 of 2 runs are finished; 'asyncfeel compare --out out' goes on\n"
    assert "\x1b" not in printed
    assert printed.splitlines()[-1] == "out"
    assert [row["status"] for row in rows("out", "comparison")] == ["finished", "interrupted"]
    assert rows("out", "table")[0]["finished"] == "1"


def test_a_terminal_shows_one_live_view_over_all():
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "CI")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    line = "compare --clients 6 --servers 3 --until 0.8 --device cpu --vary psi=inverse,hinge --target 0.999 --out out"
    process = subprocess.Popen(command(line), stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    drawn = b""
    while True:
        try:
            drawn += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert process.wait(60) == 0, drawn.decode()
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn.decode())
    assert re.search(r"\d+% +0 of 2 runs", plain)
    assert re.search(r"\d+% +1 of 2 runs", plain)
    assert re.search(r"simulated \S+ s of 0.8 s · iteration \d+", plain)
    assert re.search(r"run +ended +accuracy +to 0.999", plain)
    assert re.search(r"psi=inverse, seed 1 +finished +\S+%", plain)
    assert b"\x1b[?25h" in drawn, "the cursor is shown again"
    lines = [line.rstrip() for line in plain.splitlines()]
    assert max(map(len, lines[-12:])) <= 100
    assert lines[-1] == "out"
