"""The page in a real browser: hovering shows the tables' numbers, and nothing leaves it, on a screen and a phone."""

import base64

import pytest

from asyncfeel.recording import tables
from asyncfeel.report.command import report
from tests.report import chromium
from tests.report.conftest import trained

pytestmark = pytest.mark.skipif(chromium.found() is None, reason="there is no chromium or google-chrome on the PATH")
WIDTHS = [1200, 390]
TIP = "document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').innerText"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser for all tests of this file."""
    running = chromium.Chromium(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with its page."""
    path = trained(tmp_path_factory.mktemp("runs") / "run")
    report([path])
    return path


@pytest.fixture(params=WIDTHS)
def page(browser, folder, request):
    """The page, on a screen and on a phone."""
    return chromium.Tab(browser, folder / "report.html", request.param)


def place(page, element):
    """Where an element is in the window, scrolled into its middle; the element is an expression."""
    page.ask(f"{element}.scrollIntoView({{block: 'center'}})")
    page.settle()
    return page.ask(
        f"(() => {{ const b = {element}.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()"
    )


def chart(figure, number=0):
    return f"document.querySelectorAll('#{figure} svg')[{number}]"


def at(page, element, share, down=0.5):
    """Point at a share of an element's width, and give what the tip says."""
    x, y, width, height = place(page, element)
    page.point(x + share * width, y + down * height)
    return page.ask(TIP)


def plotted(page, element, value):
    """The share of a chart's width at which its x axis has a value, from its own ticks."""
    ticks = page.ask(
        f"[...{element}.querySelectorAll('text[text-anchor=middle]:not(.label)')]"
        ".map(t => [Number(t.textContent), t.getBBox().x + t.getBBox().width / 2])"
    )
    (a, left), (b, right) = ticks[0], ticks[-1]
    wide = page.ask(f"{element}.viewBox.baseVal.width")
    return (left + (value - a) / (b - a) * (right - left)) / wide


def test_nothing_is_complained_of_and_nothing_is_fetched(page, folder):
    page.ask("document.querySelectorAll('select').forEach(s => s.dispatchEvent(new Event('change')))")
    assert page.heard("Runtime.exceptionThrown") == []
    assert [one for one in page.heard("Runtime.consoleAPICalled") if one["type"] in ("error", "warning")] == []
    assert page.heard("Log.entryAdded") == []
    requests = {one["request"]["url"] for one in page.heard("Network.requestWillBeSent")}
    assert {url for url in requests if not url.startswith("data:")} == {(folder / "report.html").resolve().as_uri()}


def test_the_page_is_as_wide_as_the_window_and_no_text_leaves_its_chart(page):
    assert page.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    outside = page.ask(
        "[...document.querySelectorAll('svg text')].filter(t => { const a = t.getBoundingClientRect(),"
        " b = t.ownerSVGElement.getBoundingClientRect(); return a.left < b.left - 1 || a.right > b.right + 1"
        " || a.top < b.top - 1 || a.bottom > b.bottom + 1; }).map(t => t.textContent)"
    )
    assert outside == []


def test_every_figure_has_a_chart_or_a_sentence(page):
    assert page.ask("document.querySelectorAll('section').length") == 9
    assert page.ask("[...document.querySelectorAll('section')].filter(s => !s.querySelector('svg')).length") == 0
    assert page.ask("[...document.querySelectorAll('.sentence')].every(s => s.textContent.endsWith('.'))")


def test_hovering_shows_the_values_of_the_tables(page, folder):
    metrics = tables.read(folder, "metrics")
    for number, name in enumerate(("train_loss", "test_accuracy")):
        element = chart("learning", number)
        for row in (1, 3):
            said = at(page, element, plotted(page, element, metrics["time_s"][row]))
            value = metrics[name][row]
            shown = f"{value:.5g}" if name == "train_loss" else f"{100 * value:.2f} %"
            assert said.splitlines() == [f"simulated time (s): {metrics['time_s'][row]:.5g}", f"async-sd-feel: {shown}"]
    page.point(1, 1)
    assert page.ask(TIP) == ""


def test_hovering_the_map_shows_the_staleness_of_a_server_at_an_iteration(page, folder):
    table, element = tables.read(folder, "staleness"), chart("staleness", 1)
    cell = f"{element}.querySelectorAll('g rect')[{2 * 24 + 17}]"
    value = table["staleness"][(table["iteration"] == 17) & (table["server"] == 2)][0]
    assert at(page, cell, 0.5).splitlines() == ["server 2, iteration 17", f"staleness {value} iterations"]


def test_the_keyboard_reaches_the_values_too(page, folder):
    metrics, element = tables.read(folder, "metrics"), chart("learning")
    place(page, element)
    page.ask(f"{element}.focus()")
    for _ in range(3):
        page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    assert page.ask(TIP).splitlines()[0] == f"simulated time (s): {metrics['time_s'][2]:.5g}"


def test_the_slider_shows_the_matrix_of_its_iteration(page, folder):
    mixing = tables.read(folder, "mixing")
    slider = "document.querySelector('#mixing input[type=range]')"
    for iteration in (3, 11):
        page.ask(f"{slider}.value = {iteration}; {slider}.dispatchEvent(new Event('input'))")
        assert page.ask("document.querySelector('#mixing .slider span').textContent") == f"iteration {iteration}"
        row = int((mixing["iteration"] == iteration).argmax())
        source, target = mixing["source"][row], mixing["target"][row]
        element = f"{chart('mixing')}.querySelectorAll('g rect')[{6 * source + target}]"
        said = at(page, element, 0.5)
        assert said.splitlines()[0] == f"source {source}, target {target}"
        assert float(said.split("weight ")[1]) == pytest.approx(mixing["weight"][row], rel=1e-4)


def test_a_name_switches_its_series_off_and_on(page):
    lines = "document.querySelectorAll('#mixing .chart')[2].querySelectorAll('path.line').length"
    button = "document.querySelectorAll('#mixing .chart')[2].querySelectorAll('.legend button')[1]"
    assert page.ask(lines) == 6
    for pressed, count in (("false", 5), ("true", 6)):
        x, y, width, height = place(page, button)
        page.click(x + width / 2, y + height / 2)
        assert page.ask(lines) == count
        assert page.ask(f"{button}.getAttribute('aria-pressed')") == pressed


def test_dragging_zooms_and_a_button_shows_all_again(page):
    ends = f"(() => {{ const t = {chart('learning')}.querySelectorAll('text[text-anchor=middle]:not(.label)');"
    ends += " return [t[0].textContent, t[t.length - 1].textContent]; })()"
    before = page.ask(ends)
    x, y, width, height = place(page, chart("learning"))
    page.drag(x + 0.4 * width, y + height / 2, x + 0.7 * width)
    assert page.ask(ends) != before
    x, y, width, height = place(page, "document.querySelector('#learning .reset')")
    page.click(x + width / 2, y + height / 2)
    assert page.ask(ends) == before


def test_another_axis_can_be_chosen(page, folder):
    page.ask(
        "(s => { s.value = '1'; s.dispatchEvent(new Event('change')); })(document.querySelector('#learning select'))"
    )
    said = at(page, chart("learning"), plotted(page, chart("learning"), 8))
    assert said.splitlines()[0] == "iterations: 8"


def test_it_can_be_printed_and_is_dark_where_that_is_wanted(browser, folder):
    page = chromium.Tab(browser, folder / "report.html", 1200, dark=True)
    dark = page.ask("getComputedStyle(document.body).backgroundColor")
    light = chromium.Tab(browser, folder / "report.html", 1200).ask("getComputedStyle(document.body).backgroundColor")
    assert light == "rgb(255, 255, 255)" != dark
    assert base64.b64decode(page.call("Page.printToPDF")["data"]).startswith(b"%PDF")
