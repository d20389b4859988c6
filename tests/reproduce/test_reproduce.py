"""`asyncfeel reproduce` as people use it: what it leaves behind, how it goes on, what it refuses."""

import csv
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asyncfeel.cli import app
from asyncfeel.compare import runner

WORLD = (
    "--set dataset.kind=digits --set work.flops_per_step=model --set network.model_bits=model "
    "--set federation.clients=6 --set federation.servers=3 --set training.local_steps=3 "
    "--set evaluation.test_sample=50 --set evaluation.train_sample=50 --executor serial --device cpu "
)
TINY = f"reproduce fig2 {WORLD} --heterogeneity 2,4 --until 0.4 --set evaluation.every_s=0.1 "
BOTH = f"{TINY} --seeds 1..2 --target 0.01,0.999 "
NAMES = [
    f"heterogeneity={gap},{kind}-seed{seed}"
    for seed in (1, 2)
    for gap in (2, 4)
    for kind in ("async-sd-feel", "sync-sd-feel")
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(line, code=0):
    """What a command prints."""
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == code, result.stderr or repr(result.exception)
    assert (result.stderr == "") == (code == 0)
    return result


def rows(folder, name):
    with Path(folder, f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def manifests(folder):
    return {path.parent.name: path.read_bytes() for path in sorted(Path(folder).glob("runs/*/manifest.json"))}


def command(line):
    return [sys.executable, "-m", "asyncfeel", *shlex.split(line)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small Fig. 2 with two gaps and two seeds: the folder and what was printed."""
    folder = tmp_path_factory.mktemp("made") / "out"
    return folder, invoke(f"{BOTH} --out {folder}").stdout


@pytest.fixture
def copied(made):
    """A copy of it to go on with."""
    shutil.copytree(made[0], "out")
    return Path("out")


def test_runs_tables_figures_and_page(made):
    folder, _ = made
    files = {"comparison.toml", "comparison.csv", "table.csv", "results.md", "results.csv", "curves.csv", "report.html"}
    assert {path.name for path in folder.iterdir()} == files | {"runs", "figures"}
    assert sorted(path.name for path in (folder / "runs").iterdir()) == sorted(NAMES)
    drawn = {f"{name}.{kind}" for name in ("fig2", "fig2a", "fig2b") for kind in ("png", "pdf", "svg")}
    assert {path.name for path in (folder / "figures").iterdir()} == drawn
    assert 'width="252pt"' in (folder / "figures" / "fig2.svg").read_text()
    assert "The paper&#x27;s Fig. 2" in (folder / "report.html").read_text()


def test_the_curves_are_means_of_the_runs(made):
    folder, _ = made
    finals = [float(rows(folder / "runs" / name, "metrics")[-1]["test_accuracy"]) for name in (NAMES[0], NAMES[4])]
    found = [
        row for row in rows(folder, "curves") if (row["heterogeneity"], row["algorithm"]) == ("2", "async-sd-feel")
    ]
    assert [float(row["time_s"]) for row in found] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    last = found[-1]
    assert float(last["test_accuracy_mean"]) == pytest.approx(sum(finals) / 2)
    assert (float(last["test_accuracy_min"]), float(last["test_accuracy_max"])) == (min(finals), max(finals))


def test_the_page_states_command_claims_times_and_rules(made):
    folder, printed = made
    text = (folder / "results.md").read_text()
    assert "asyncfeel reproduce fig2 --scale small --heterogeneity 2,4 --seeds 1..2 --until 0.4" in text
    assert "--device" not in text
    assert str(folder) not in text
    assert "Seeds 1, 2; 0.4 simulated seconds; data `digits`, model `cnn`" in text
    for words in ("asynchronous is faster", "a larger H is slower", "asynchronous is ahead early", "catches up late"):
        assert re.search(rf"^\| [^|]*{words} \| .* \|$", text, re.M)
        assert re.search(rf"^- \*\*[^*]*{words}\*\*: ", text, re.M)
        assert words in printed
    assert "| 2 | 0.999 | not reached | not reached | - |" in text
    for row in rows(folder, "results"):
        assert (row["seeds"], row["async_time_to_0.999_s"], row["ratio_0.999"]) == ("2", "", "")
        assert {row[name] for name in ("faster", "ahead_early", "catches_up")} <= {"yes", "no", "undecided"}
    assert [bool(row["slower_with_gap"]) for row in rows(folder, "results")] == [False, True]


def test_again_nothing_is_run_and_everything_is_the_same(copied):
    before, tables = manifests(copied), {name: Path(copied, name).read_bytes() for name in ("results.md", "curves.csv")}
    printed = invoke(f"{BOTH} --out out").stdout
    assert "8 of 8 runs are finished with the same scenario: they are kept" in printed
    assert "[1/8]" not in printed
    assert manifests(copied) == before
    assert {name: Path(copied, name).read_bytes() for name in tables} == tables


def test_seeds_may_be_added_and_left_out(copied):
    before = manifests(copied)
    assert "4 of 4 runs are finished" in invoke(f"{TINY} --seeds 2 --out out").stdout
    assert [row["seeds"] for row in rows("out", "results")] == ["1", "1"]
    assert "8 of 12 runs are finished" in invoke(f"{TINY} --seeds 1..3 --out out").stdout
    assert [row["seeds"] for row in rows("out", "results")] == ["3", "3"]
    assert before.items() <= manifests(copied).items()


@pytest.mark.parametrize("status", ["interrupted", "failed", "running"])
def test_an_unfinished_run_is_run_anew_with_a_message(copied, status):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    path, before = copied / "runs" / NAMES[1] / "manifest.json", manifests(copied)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": status, "process": gone.pid}))
    printed = invoke(f"{BOTH} --out out").stdout
    assert f"the run '{NAMES[1]}' is not finished: it is removed and run anew" in printed
    assert [name for name, text in manifests(copied).items() if text != before[name]] == [NAMES[1]]
    assert {row["status"] for row in rows("out", "comparison")} == {"finished"}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("manifest.json", "{", "Expecting property name"),
        ("manifest.json", None, "it has no manifest.json"),
        ("metrics.csv", None, "metrics.csv does not reach the end"),
        ("metrics.csv", "iteration,time_s,train_loss,test_loss,test_accuracy\n0,0.0,2.3,2.3,0.1\n", "does not reach"),
        ("iterations.csv", None, "no iterations.csv"),
        ("config.toml", "[", "config.toml"),
    ],
)
def test_a_damaged_run_is_set_aside_and_run_anew(copied, name, content, why):
    path, results = copied / "runs" / NAMES[2], Path(copied, "curves.csv").read_bytes()
    (path / name).unlink()
    if content is not None:
        (path / name).write_text(content)
    printed = invoke(f"{BOTH} --out out").stdout
    (said,) = [line for line in printed.splitlines() if "is damaged" in line]
    assert why in said
    assert f"set aside as '{NAMES[2]}.damaged' and run anew" in said
    assert (copied / "runs" / f"{NAMES[2]}.damaged").is_dir()
    assert Path(copied, "curves.csv").read_bytes() == results


def test_a_killed_reproduction_goes_on_where_it_stopped():
    line = f"{TINY} --seeds 1 --until 4 --out out"
    with subprocess.Popen(command(line), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for said in process.stdout:
            if said.startswith("[2/4]"):
                break
        process.kill()
    kept = manifests("out")[NAMES[0]]
    unfinished = b'"finished"' not in manifests("out").get(NAMES[1], b'"finished"')
    printed = invoke(line).stdout
    assert "of 4 runs are finished with the same scenario: they are kept" in printed
    assert ("is not finished: it is removed and run anew" in printed) == unfinished
    assert manifests("out")[NAMES[0]] == kept
    assert Path("out/results.md").is_file()


def test_ctrl_c_ends_cleanly_and_writes_no_results():
    line = f"{TINY} --seeds 1 --until 1h --out out"
    process = subprocess.Popen(command(line), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for said in process.stdout:
        if said.startswith("[1/4]"):
            break
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complaint == "interrupted: 0 of 4 runs are finished; the same command goes on\n"
    assert not Path("out/results.md").exists()


def test_a_run_that_fails_gives_no_figure_and_exit_code_1(monkeypatch):
    def simulate(scenario, *arguments, **keywords):
        if scenario.algorithm.kind == "sync-sd-feel":
            raise MemoryError("too large")
        return whole(scenario, *arguments, **keywords)

    whole = runner.simulate
    monkeypatch.setattr(runner, "simulate", simulate)
    result = invoke(f"{TINY} --seeds 1 --out out", 1)
    assert result.stderr == "error: 2 of 4 runs failed\n"
    assert "MemoryError: too large" in result.stdout
    assert not Path("out/results.md").exists()
    monkeypatch.setattr(runner, "simulate", whole)
    assert "2 of 4 runs are finished" in invoke(f"{TINY} --seeds 1 --out out").stdout
    assert Path("out/results.md").exists()


def test_another_scenario_in_the_same_folder_is_refused(copied):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    result = invoke(f"{BOTH} --until 0.3 --out out", 2)
    assert "is that of another scenario: move it away, or choose another --out" in result.stderr
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before


def test_a_folder_of_something_else_is_left_alone(folder):
    Path("out").mkdir()
    Path("out/precious").touch()
    assert "holds no comparison: choose another --out" in invoke(f"{BOTH} --out out", 2).stderr
    Path("file").touch()
    assert "'file' cannot be made" in invoke(f"{BOTH} --out file", 2).stderr
    assert sorted(path.name for path in folder.rglob("*")) == ["file", "out", "precious"]


def test_fig1_needs_no_data_and_no_training():
    assert invoke("reproduce fig1 --data-dir nowhere --quiet").stdout == "reproduce-fig1/small\n"
    made = Path("reproduce-fig1/small")
    names = ("fig1", "fig1-asynchronous", "fig1-synchronous")
    drawn = {f"{name}.{kind}" for name in names for kind in ("png", "pdf", "svg")}
    assert {path.name for path in (made / "figures").iterdir()} == drawn
    text = (made / "figures" / "fig1.svg").read_text()
    assert ">server 2<" in text
    assert ">server 3<" not in text
    assert ">server 5<" in (made / "figures" / "fig1-synchronous.svg").read_text()
    assert (
        "Synchronous: In the first 826.9 simulated seconds 2 iterations were completed"
        in (made / "report.html").read_text()
    )
    assert all(json.loads(text)["kind"] == "plan" for text in manifests(made).values())
    assert "2 of 2 runs are finished" in invoke("reproduce fig1 --data-dir nowhere").stdout


def test_fig1_shows_two_synchronous_iterations_or_what_is_asked_for():
    invoke("reproduce fig1 --scale paper --heterogeneity 30 --seeds 4 --out a --quiet")
    (second,) = {row["time_s"] for row in rows("a/runs/sync-sd-feel-seed4", "iterations") if row["iteration"] == "1"}
    assert f"In the first {float(second):.4g} simulated seconds" in Path("a/report.html").read_text()
    invoke("reproduce fig1 --until 500 --out b --quiet")
    assert "In the first 500 simulated seconds" in Path("b/report.html").read_text()


@pytest.mark.parametrize(
    ("line", "fragment"),
    [
        ("fig3", "the figure 'fig3' is unknown: there are fig1 and fig2"),
        ("fig2 --scale huge", "--scale 'huge' is unknown: there are small and paper"),
        ("fig2 --seeds 3..1", "'3..1' is empty"),
        ("fig2 --heterogeneity 5,x", "--heterogeneity takes gaps of at least 1, such as 5,10,30, not '5,x'"),
        ("fig2 --heterogeneity 0.5", "gaps of at least 1"),
        ("fig2 --heterogeneity nan", "gaps of at least 1"),
        ("fig2 --target 40", "test accuracy above 0 and up to 1"),
        ("fig2 --until soon", "'soon' is not a quantity"),
        ("fig2 --executor stub", "fig2 trains"),
        ("fig2 --executor nope", "executor 'nope' is unknown"),
        ("fig2 --set dataset.kind=nowhere.npz", "nowhere.npz"),
        ("fig2 --set dataset.kind=digits --set federation.clients=2", "2 clients cannot serve 6 servers"),
        ("fig2 --set nope=1", "key 'nope' is unknown"),
        ("fig2 --set algorithm.kind=fedavg", "--set algorithm.kind: what a figure compares is not set"),
        ("fig2 --set seed=4", "--heterogeneity and --seeds choose"),
        ("fig2 --set speeds.heterogeneity=4", "--heterogeneity and --seeds choose"),
        ("fig1 --heterogeneity 5,10", "fig1 shows one schedule"),
        ("fig1 --seeds 1..3", "fig1 shows one schedule"),
        ("fig1 --target 0.5", "fig1 trains nothing"),
        ("fig1 --executor threads", "fig1 trains nothing"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_created(folder, line, fragment):
    result = invoke(f"reproduce {line}", 2)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert fragment in result.stderr
    assert list(folder.iterdir()) == []


def test_help_shows_every_flag():
    promised = shlex.split(
        "--scale --seeds --heterogeneity --until --target --data-dir --executor --workers --device --set --out --quiet "
        "--help"
    )
    assert sorted(set(re.findall(r"--[a-z-]+", invoke("reproduce --help").stdout)) - {"--"}) == sorted(promised)
