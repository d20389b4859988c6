"""The page: it parses, stays on the disk, cannot be broken by names, and shows the tables' numbers."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from asyncfeel.cli import app
from asyncfeel.errors import InputError
from asyncfeel.recording import tables
from asyncfeel.report import page
from asyncfeel.report.charts import Figure, View
from asyncfeel.report.command import report
from asyncfeel.report.grouping import gather

VOID = {"meta", "link", "input", "br"}
FIGURES = [
    "learning",
    "timeline",
    "staleness",
    "staleness-distribution",
    "topology",
    "mixing",
    "weights",
    "steps",
    "servers",
]


class Page(HTMLParser):
    """What a browser would make of a page: open elements, addresses, and the texts of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.scripts, self.sections = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.addresses += [value for key, value in found.items() if key in ("src", "href")]
        if tag == "section":
            self.sections.append(found["id"])
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data

    @property
    def figures(self):
        return {one["slug"]: one for one in json.loads(self.scripts[0])}


def opened(folders, **rest):
    return Page(report(folders, **rest)[0].read_text(encoding="utf-8"))


def test_the_page_is_complete_and_asks_for_nothing(tested):
    folder = tested()
    found = opened([folder])
    assert found.open == []
    assert found.sections == FIGURES
    assert all(address.startswith(("#", "data:")) for address in found.addresses)
    text = (folder / "report.html").read_text()
    assert "http://" not in text
    assert "https://" not in text
    assert "eval(" not in text
    assert len(text) < 2_000_000


def test_the_numbers_are_those_of_the_tables(tested):
    folder = tested()
    figures = opened([folder]).figures
    metrics = tables.read(folder, "metrics")
    over_time, over_iterations, over_bytes = figures["learning"]["views"]
    loss, accuracy = (chart["lines"][0] for chart in over_time["charts"])
    assert loss["x"] == metrics["time_s"].tolist()
    assert loss["y"] == metrics["train_loss"].tolist()
    assert accuracy["y"] == metrics["test_accuracy"].tolist()
    assert over_iterations["charts"][0]["lines"][0]["x"] == metrics["iteration"].tolist()
    assert over_bytes["charts"][0]["lines"][0]["x"][0] == 0
    staleness = tables.read(folder, "staleness")
    lines, heat = figures["staleness"]["views"][0]["charts"]
    own = staleness["server"] == 3
    assert lines["lines"][3]["y"] == staleness["staleness"][own].tolist()
    assert heat["values"][3] == staleness["staleness"][own].tolist()
    mixing = tables.read(folder, "mixing")
    now = mixing["iteration"] == 7
    rows = zip(*(mixing[name][now].tolist() for name in ("source", "target", "weight")), strict=True)
    assert figures["mixing"]["views"][0]["charts"][0]["entries"][7] == [list(row) for row in rows]


def test_names_cannot_break_out():
    name = "</script><script>alert(1)</script>&<!--"
    text = page.embedded([Figure("a", name, [View(name, name)])])
    assert not set("<>&") & set(text)
    assert json.loads(text)[0]["title"] == name


def test_a_hostile_folder_is_shown_as_text(tested):
    folder = tested("<img src=x onerror=alert(1)>")
    text = report([folder])[0].read_text()
    assert "<img" not in text
    assert Page(text).open == []


def test_a_plan_says_what_it_has_not(planned):
    figures = opened([planned()]).figures
    assert figures["learning"]["views"][0]["charts"] == []
    assert "a plan trains nothing" in figures["learning"]["views"][0]["sentence"]
    assert "no servers.csv" in figures["servers"]["views"][0]["sentence"]
    assert figures["staleness"]["views"][0]["charts"]


def test_a_single_server_has_stale_results_instead_of_neighbours(planned):
    figures = opened([planned(algorithm="fedasync")]).figures
    assert "merged" in figures["staleness"]["views"][0]["sentence"]
    assert "no mixing matrix" in figures["mixing"]["views"][0]["sentence"]
    assert "cannot be derived" in figures["weights"]["views"][0]["sentence"]


def test_a_folder_that_is_still_running(tested):
    folder = tested()
    manifest = json.loads((folder / "manifest.json").read_text())
    kept = {
        key: manifest[key] for key in manifest if key not in ("servers", "traffic", "time_s", "iterations", "metrics")
    }
    (folder / "manifest.json").write_text(json.dumps(kept | {"status": "running", "machine": {"host": "elsewhere"}}))
    (folder / "servers.csv").unlink()
    with (folder / "metrics.csv").open("a") as file:
        file.write("24,0.5,0.1")
    figures = opened([folder]).figures
    assert len(figures["learning"]["views"][0]["charts"][0]["lines"][0]["x"]) == 5
    assert "when the run ends" in " ".join(figures["weights"]["views"][0]["notes"])


def test_a_folder_without_an_iteration(tested):
    folder = tested()
    for name in ("iterations", "staleness", "mixing"):
        header = (folder / f"{name}.csv").read_text().splitlines()[0]
        (folder / f"{name}.csv").write_text(header + "\n")
    figures = opened([folder]).figures
    assert "No iteration is complete" in figures["staleness"]["views"][0]["sentence"]
    assert "No iteration is complete" in figures["timeline"]["views"][0]["sentence"]


def test_seeds_are_one_series_with_a_band(tested, tmp_path):
    folders = [tested("a", seed=1), tested("b", seed=2), tested("c", seed=1, psi="hinge")]
    groups = gather(folders)
    assert [(one.label, len(one.runs)) for one in groups] == [("psi=inverse", 2), ("psi=hinge", 1)]
    figures = opened(folders, out=tmp_path / "all.html").figures
    both, alone = figures["learning"]["views"][0]["charts"][0]["lines"]
    losses = np.array([tables.read(folder, "metrics")["train_loss"] for folder in folders[:2]])
    assert both["y"] == losses.mean(axis=0).tolist()
    assert (both["low"], both["high"]) == (losses.min(axis=0).tolist(), losses.max(axis=0).tolist())
    assert alone["low"] is None
    assert len(figures["mixing"]["views"]) == 2


def test_algorithms_are_named_without_each_others_options(planned):
    folders = [planned(name, algorithm=name) for name in ("async-sd-feel", "sync-sd-feel", "fedavg")]
    assert [one.label for one in gather(folders)] == ["async-sd-feel", "sync-sd-feel", "fedavg"]


def test_only_reports_are_replaced(planned):
    folder = planned()
    command = ["report", str(folder)]
    assert CliRunner().invoke(app, command).output.strip() == str(folder / "report.html")
    assert CliRunner().invoke(app, command).exit_code == 0
    (folder / "report.html").write_text("my notes")
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert (folder / "report.html").read_text() == "my notes"


def test_a_run_named_twice_or_no_run_at_all(planned, tmp_path):
    folder = planned()
    with pytest.raises(InputError, match="twice"):
        report([folder, folder], tmp_path / "x.html")
    with pytest.raises(InputError, match="not a run folder"):
        report([tmp_path / "nowhere"])
    assert not (tmp_path / "x.html").exists()
