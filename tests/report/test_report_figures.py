"""The figures for a paper: three formats each, real text, one column wide."""

import pytest

from asyncfeel.errors import InputError
from asyncfeel.report.charts import Bar, Bars, Figure, Heat, Line, Lines, Link, Matrices, Network, Node, View
from asyncfeel.report.figures import save

CHARTS = {
    "lines": Lines("t", "x", "y", [Line("a", [0, 1], [1, 2], [0, 1], [2, 3]), Line("b", [0, 1], [2, 1])]),
    "bars": Bars("t", "x", "y", ["0", "1"], [Bar("a", [0.5, 0.25])], percent=True),
    "heat": Heat("t", "x", "y", ["0", "1"], ["0"], [[1.0, 2.0]], "u"),
    "matrices": Matrices("t", "x", "y", 2, ["0"], [[(0, 1, 0.5), (0, 0, 0.5)]]),
    "network": Network("t", [Node("0", 0, 0, 0.5), Node("1", 1, 1, 0.5)], [Link(0, 1, 3)]),
}


@pytest.mark.parametrize("kind", CHARTS)
def test_every_kind_of_chart_in_three_formats(kind, tmp_path):
    files = save.all_of([Figure("f", "t", [View("", "s", [CHARTS[kind]])])], tmp_path / "new")
    assert [file.name for file in files] == ["f.png", "f.pdf", "f.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert files[1].read_bytes().startswith(b"%PDF")
    drawing = files[2].read_text()
    assert 'width="252pt"' in drawing
    assert "<text" in drawing


def test_views_have_files_of_their_own_and_sentences_have_none(tmp_path):
    views = [View("a/b", "s", [CHARTS["bars"]]), View("a b", "s", [CHARTS["bars"]]), View("c", "s")]
    files = save.all_of([Figure("f", "t", views)], tmp_path)
    assert sorted({file.stem for file in files}) == ["f-a-b-1", "f-a-b-2"]


def test_a_missing_matplotlib_names_the_remedy(monkeypatch):
    monkeypatch.setattr(save, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'asyncfeel\[figures\]'"):
        save.require()
