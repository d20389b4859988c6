"""A scenario: one frozen value from layers of settings, readable and writable as TOML."""

import dataclasses
import json
import pickle
import tomllib
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from asyncfeel import InputError, Scenario, run
from asyncfeel.plugins import Plugin
from asyncfeel.scenario import text
from asyncfeel.scenario.build import FLAGS, as_table, from_table
from asyncfeel.scenario.sections import Stop
from asyncfeel.units import has_unit

PRESETS = ("quick", "paper", "paper-small")
NUMBERS = {"work.flops_per_step": 1e6, "network.model_bits": 1e5}
SCHEDULE = ("clients.csv", "topology.json", "iterations.csv", "staleness.csv", "mixing.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(content: str) -> str:
    Path("s.toml").write_text(content, encoding="utf-8")
    return "s.toml"


characters = st.characters(exclude_categories=["Cs"])
numbers = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | numbers | st.text(characters)
option_names = st.from_regex("[a-z_]{1,8}", fullmatch=True).filter(lambda name: name != "kind" and not has_unit(name))
plugins = st.builds(Plugin, st.text(characters), st.dictionaries(option_names, scalars | st.lists(scalars)))


def values(hint: Any, bounds: Any) -> st.SearchStrategy[Any]:
    """Everything that a key may hold, by its type and its bounds."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return st.one_of([values(part, bounds) for part in typing.get_args(hint)])
    if typing.get_origin(hint) is typing.Literal:
        return st.sampled_from(typing.get_args(hint))
    if dataclasses.is_dataclass(hint) and hint is not Plugin:
        return sections(hint)
    if hint is str and bounds.get("pattern"):
        return st.from_regex(bounds["pattern"], fullmatch=True)
    return {
        Plugin: lambda: plugins,
        type(None): st.none,
        bool: st.booleans,
        str: lambda: st.text(characters),
        int: lambda: st.integers(*whole(bounds)),
        float: lambda: floats(bounds),
    }[hint]()


def whole(bounds: Any) -> tuple[int, int]:
    """The least and the greatest whole number of a key: TOML has 64 bits for it."""
    least, most = bounds.get("least"), bounds.get("most")
    return -(2**63) if least is None else int(least), 2**63 - 1 if most is None else int(most)


def floats(bounds: Any) -> st.SearchStrategy[float]:
    """The numbers between the bounds of a key."""
    above, below = bounds.get("above"), bounds.get("below")
    return st.floats(
        bounds.get("least") if above is None else above,
        bounds.get("most") if below is None else below,
        exclude_min=above is not None,
        exclude_max=below is not None,
        allow_nan=False,
        allow_infinity=False,
    )


def sections(section: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(section)
    fields = dataclasses.fields(section)
    return st.builds(section, **{field.name: values(hints[field.name], field.metadata) for field in fields})


@settings(deadline=None, derandomize=True, database=None, max_examples=40, phases=[Phase.explicit, Phase.generate])
@given(scenario=sections(Scenario), comments=st.booleans())
def test_any_scenario_survives_being_written_and_read(scenario, comments):
    toml = text.write(scenario, "A heading\nof two lines", (lambda what, kind: {}) if comments else None)
    table = tomllib.loads(toml)
    assert table.pop("preset") == "none"
    assert from_table(table) == scenario


@pytest.mark.parametrize("preset", PRESETS)
def test_a_written_preset_is_that_preset(preset, folder):
    scenario = Scenario.load(preset)
    assert Scenario.load(config=written(text.write(scenario))) == scenario


def test_the_defaults_are_the_preset_quick():
    assert Scenario.load() == Scenario.load("quick") == dataclasses.replace(Scenario(), stop=Stop(until_s=5.0))


@settings(deadline=None, derandomize=True, database=None, max_examples=100)
@given(st.text(characters))
def test_any_text_survives_as_a_literal(value):
    assert tomllib.loads(f"value = {text.literal(value)}")["value"] == value


@settings(deadline=None, derandomize=True, database=None, max_examples=100)
@given(numbers)
def test_every_digit_of_a_number_survives(value):
    assert tomllib.loads(f"value = {text.literal(value)}")["value"] == value


def test_every_key_has_a_help_text():
    for field in dataclasses.fields(Scenario):
        inner = typing.get_type_hints(Scenario)[field.name]
        keys = [field, *(dataclasses.fields(inner) if dataclasses.is_dataclass(inner) and inner is not Plugin else ())]
        assert all(key.metadata["help"] for key in keys)


def test_a_scenario_cannot_be_changed():
    scenario = Scenario.load(psi="hinge", set={"psi.a": 3})
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.seed = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.federation.clients = 2
    with pytest.raises(TypeError):
        scenario.psi.options["a"] = 5


def test_a_scenario_is_a_value():
    one, two = (Scenario.load("paper", psi="hinge", set={"psi.a": 3}) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == one


def test_replace_leaves_the_original_alone():
    scenario = Scenario.load(seed=1)
    assert scenario.replace(seed=2, set={"training.batch": 3}) == Scenario.load(seed=2, set={"training.batch": 3})
    assert scenario == Scenario.load(seed=1)


def test_each_layer_beats_the_one_below(folder):
    config = written("[stop]\nuntil_s = 7.0\n")
    dotted = {"stop.until_s": 8.0}
    layers = [
        Scenario.load(),
        Scenario.load("paper"),
        Scenario.load("paper", config),
        Scenario.load("paper", config, dotted),
        Scenario.load("paper", config, dotted, until=9.0),
    ]
    assert [layer.stop.until_s for layer in layers] == [5.0, 40_000.0, 7.0, 8.0, 9.0]


def test_what_a_layer_does_not_say_stays(folder):
    config = written("[training]\nbatch = 3\n")
    scenario = Scenario.load("paper", config, {"training.momentum": 0.5})
    training = scenario.training
    assert (training.learning_rate, training.batch, training.momentum) == (0.001, 3, 0.5)


def test_a_file_may_name_its_preset(folder):
    config = written('preset = "paper"\nseed = 3\n')
    assert Scenario.load(config=config) == Scenario.load("paper", seed=3)


def test_the_preset_on_the_command_line_beats_the_one_in_the_file(folder):
    config = written('preset = "paper"\n')
    assert Scenario.load("paper-small", config) == Scenario.load("paper-small")


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_of_nothing_changes_nothing(flag):
    assert Scenario.load(**{flag: None}) == Scenario.load()


def test_a_file_saved_with_a_byte_order_mark_is_read(folder):
    assert Scenario.load(config=written("\ufeffseed = 3\n")).seed == 3


def test_an_unknown_flag_is_refused():
    with pytest.raises(InputError, match="'severs' is unknown: did you mean 'servers'"):
        Scenario.load(severs=3)


def test_a_new_kind_leaves_the_old_options_behind(folder):
    config = written('[psi]\nkind = "hinge"\na = 5.0\n')
    assert Scenario.load(config=config).psi == Plugin("hinge", {"a": 5.0})
    assert Scenario.load(config=config, psi="polynomial").psi == Plugin("polynomial")
    assert Scenario.load(set={"speeds.kind": "log-normal"}).speeds == Plugin("log-normal")


def test_the_same_kind_keeps_the_options(folder):
    config = written('[psi]\nkind = "hinge"\na = 5.0\n')
    assert Scenario.load(config=config, psi="hinge", set={"psi.b": 2}).psi == Plugin("hinge", {"a": 5.0, "b": 2})


def test_a_name_alone_will_do_for_a_section(folder):
    assert Scenario.load(config=written('psi = "hinge"\ntopology = "grid"\n')).psi == Plugin("hinge")


def test_a_name_alone_drops_the_options_below(folder):
    assert Scenario.load(config=written('speeds = "log-normal"\n')).speeds == Plugin("log-normal")


@pytest.mark.parametrize("order", [("psi", "psi.a"), ("psi.a", "psi")])
def test_a_name_alone_goes_with_options_in_any_order(order):
    given = {"psi": "hinge", "psi.a": 3}
    assert Scenario.load(set={key: given[key] for key in order}).psi == Plugin("hinge", {"a": 3})


def test_iterations_alone_replace_the_time_limit_of_the_preset():
    assert Scenario.load(iterations=5).stop == Stop(iterations=5)


def test_until_alone_replaces_the_iterations_of_the_file(folder):
    assert Scenario.load(config=written("[stop]\niterations = 5\n"), until=3).stop == Stop(until_s=3.0)


def test_both_limits_together_stay():
    assert Scenario.load(iterations=5, until=3).stop == Stop(until_s=3.0, iterations=5)


def test_one_grid_of_evaluations_replaces_the_other():
    evaluation = Scenario.load("paper", set={"evaluation.every_iterations": 4}).evaluation
    assert (evaluation.every_s, evaluation.every_iterations) == (None, 4)


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("stop.until_s", "2h", 7200.0),
        ("stop.until_s", 3, 3.0),
        ("network.uplink_bps", "5 Mbps", 5e6),
        ("network.model_bits", "1 Gbit", 1e9),
        ("network.model_bits", "paper", "paper"),
        ("work.flops_per_step", "2 GFLOP", 2e9),
        ("work.flops_per_step", "literal", "literal"),
        ("work.flops_per_step", "model", "model"),
    ],
)
def test_a_key_takes_a_number_a_unit_or_a_word_of_its_own(key, value, meant):
    section, name = key.split(".")
    assert getattr(getattr(Scenario.load(set={key: value}), section), name) == meant


def test_options_of_plugins_take_units_too():
    scenario = Scenario.load(set={"speeds.mean_flops": "2 GFLOPS", "drift.kind": "jitter", "drift.period_s": "2m"})
    assert scenario.speeds.options["mean_flops"] == 2e9
    assert scenario.drift.options["period_s"] == 120.0


@pytest.mark.parametrize(
    ("item", "key", "value"),
    [
        ("psi.a=0.5", "psi.a", 0.5),
        ("seed=3", "seed", 3),
        ("training.augment=true", "training.augment", True),
        ("topology.kind=ring", "topology.kind", "ring"),
        ("topology.kind='ring'", "topology.kind", "ring"),
        (" seed = 3 ", "seed", 3),
        ("stop.until_s=2h", "stop.until_s", "2h"),
        ("speeds.path=a=b.csv", "speeds.path", "a=b.csv"),
        ("x.y=[1, 2]", "x.y", [1, 2]),
        ("data_dir=", "data_dir", ""),
    ],
)
def test_assignments_on_the_command_line(item, key, value):
    assert text.parse_assignment(item) == (key, value)


@pytest.mark.parametrize(("reading", "flops"), [("paper", 556_700_000), ("literal", 55.67e9), ("physical", 33.4e9)])
def test_the_three_readings_of_the_work_per_step(reading, flops, folder):
    changes = {"work.flops_per_step": reading, "network.model_bits": "paper"}
    result = run(Scenario.load(iterations=1, set=changes), "out", train=False)
    facts = json.loads((result.folder / "manifest.json").read_text())
    assert facts["flops_per_step"] == pytest.approx(flops, rel=1e-3)
    assert facts["model_bits"] == 357_566_784


WORLDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "random graph": {"topology.kind": "random", "topology.p": 0.4, "seed": 7},
    "map": {"topology.kind": "nsfnet"},
    "odd speeds": {"speeds.kind": "log-normal", "speeds.sigma": 0.7, "federation.assignment": "sorted"},
    "drift and fading": {"drift.kind": "jitter", "drift.period_s": 0.5, "fading.kind": "daily", "fading.period_s": 3},
    "synchronous": {"algorithm.kind": "sync-sd-feel", "algorithm.tau2": 2, "network.downlink_bps": "1 Mbps"},
    "weighted": {"algorithm.mixing": "weighted", "algorithm.rate_correction": True, "psi.kind": "hinge", "psi.b": 1},
    "own split": {"split.kind": "shards", "split.per_client": 3, "training.batch": 4},
    "own clients": {"dataset.kind": "synthetic", "dataset.alpha": 0.5, "federation.clients": 8},
    "fixed deadline": {"algorithm.deadline": "fixed", "algorithm.deadline_s": 0.3, "stop.until_s": "3s"},
}


@pytest.mark.parametrize("world", WORLDS)
def test_the_recorded_configuration_repeats_the_schedule_byte_for_byte(world, folder):
    first = run(Scenario.load(set={"stop.iterations": 30} | NUMBERS | WORLDS[world]), "first", train=False)
    again = run(Scenario.load(config=first.folder / "config.toml"), "again", train=False)
    for name in (*SCHEDULE, "config.toml"):
        assert (first.folder / name).read_bytes() == (again.folder / name).read_bytes()
    assert first.summary["digests"] == again.summary["digests"]


def test_the_recorded_configuration_repeats_the_training(folder):
    first = run(Scenario.load(clients=6, servers=3, iterations=4, executor="serial", device="cpu"), "first")
    again = run(Scenario.load(config=first.folder / "config.toml"), "again")
    for name in (*SCHEDULE, "config.toml", "metrics.csv", "model.safetensors"):
        assert (first.folder / name).read_bytes() == (again.folder / name).read_bytes()


def test_the_recorded_configuration_ends_as_the_run_did(folder):
    patient = dataclasses.replace(Scenario.load(clients=6, servers=3), stop=Stop(patience=1, tolerance=100.0))
    first = run(patient, "first")
    assert Scenario.load(config=first.folder / "config.toml").stop == patient.stop


def test_a_table_of_a_scenario_is_that_scenario():
    scenario = Scenario.load("paper", psi="hinge", set={"psi.a": 3})
    assert from_table(as_table(scenario)) == scenario
