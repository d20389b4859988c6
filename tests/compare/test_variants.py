"""What a comparison spans: seeds, targets, axes, and the names of the variants."""

import pytest

from asyncfeel import InputError
from asyncfeel.compare import variants


@pytest.mark.parametrize(
    ("given", "expected"),
    [("3", (3,)), ("1..3", (1, 2, 3)), ("1,2,5", (1, 2, 5)), ("0..1, 7", (0, 1, 7)), ("4..4", (4,))],
)
def test_seeds(given, expected):
    assert variants.seeds(given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "1..3 or 1,2,5, not ''"),
        ("a", "not 'a'"),
        ("-1", "not '-1'"),
        ("1,,2", "not '1,,2'"),
        ("1...3", "not '1...3'"),
        ("3..1", "'3..1' is empty: write 1..3"),
        ("1..3,2", "has 2 twice"),
        ("1..99999999", "more than 10,000 seeds"),
    ],
)
def test_wrong_seeds(given, message):
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        variants.seeds(given)


def test_targets_come_in_rising_order_and_once():
    assert variants.targets(["0.9", "0.5, 0.9", "1"]) == (0.5, 0.9, 1.0)
    assert variants.targets([]) == ()


@pytest.mark.parametrize("given", ["90", "0", "-0.5", "nan", "x", "", "0.5,"])
def test_wrong_targets(given):
    with pytest.raises(InputError, match="test accuracy above 0 and up to 1"):
        variants.targets([given])


def test_axes_take_flags_and_keys_and_values_of_any_type():
    found = variants.axes("a,b", ["psi=inverse,hinge", "training.momentum=0,0.9", "data-dir=x,'y,z'"])
    assert found == {
        "algorithm.kind": ("a", "b"),
        "psi.kind": ("inverse", "hinge"),
        "training.momentum": (0, 0.9),
        "data_dir": ("x", "y,z"),
    }
    assert variants.axes(None, ["training.augment=true,false"]) == {"training.augment": (True, False)}


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("[1,2],[3]", ["[1,2]", "[3]"]),
        ('{kind="x",l=[1,2]},y', ['{kind="x",l=[1,2]}', "y"]),
        ('"a,b",c', ['"a,b"', "c"]),
        ("it's.json,b", ["it's.json", "b"]),
        ("a],b", ["a]", "b"]),
    ],
)
def test_commas_in_quotes_and_brackets_do_not_part(listed, expected):
    assert variants.split(listed) == expected


@pytest.mark.parametrize(
    ("algorithms", "vary", "message"),
    [
        (None, ["psi"], "key=value,value"),
        (None, ["=a,b"], "key=value,value"),
        (None, ["psi="], "a value of 'psi' is empty"),
        (None, ["psi=a,,b"], "a value of 'psi' is empty in 'a,,b'"),
        (None, ["psi=hinge,hinge"], "psi has hinge twice"),
        (None, ["training.momentum=0.1,0.10"], "has 0.1 twice"),
        (None, ["psi=a,b", "psi.kind=c"], "'psi' is varied twice"),
        (None, ["seed=1,2"], "--seeds 1..3"),
        ("a,a", [], "--algorithms: algorithm has a twice"),
        ("", [], "--algorithms: a value of 'algorithm' is empty"),
        ("a", ["algorithm=b"], "'algorithm' is varied twice"),
    ],
)
def test_wrong_axes(algorithms, vary, message):
    with pytest.raises(InputError) as caught:
        variants.axes(algorithms, vary)
    assert message in str(caught.value)


def named(axes):
    return [one.name for one in variants.expand(axes, "as-it-is")]


def test_variants_are_all_combinations_named_by_what_differs():
    assert named({"algorithm.kind": ("a", "b")}) == ["a", "b"]
    assert named({"psi.kind": ("x", "y")}) == ["psi=x", "psi=y"]
    assert named({"training.momentum": (0.0, 0.5)}) == ["training.momentum=0.0", "training.momentum=0.5"]
    both = {"algorithm.kind": ("a", "b"), "psi.kind": ("x", "y"), "federation.clients": (6,)}
    assert named(both) == ["a,psi=x", "a,psi=y", "b,psi=x", "b,psi=y"]
    assert named({"psi.kind": ("x",)}) == ["psi=x"]
    assert named({}) == ["as-it-is"]


def test_a_variant_has_all_its_values():
    *_, last = variants.expand({"algorithm.kind": ("a", "b"), "federation.clients": (6,)}, "")
    assert last.dotted == {"algorithm.kind": "b", "federation.clients": 6}


def test_a_kind_can_bring_its_options():
    axes = variants.axes(None, ['psi=inverse,{kind="hinge",b=2}', "stop={until_s=1},{iterations=5}"])
    found = variants.expand(axes, "")
    assert found[2].name == "psi=hinge(b=2),stop=(until_s=1)"
    assert found[2].dotted == {"psi.kind": "hinge", "psi.b": 2, "stop.until_s": 1}
    assert found[1].dotted == {"psi.kind": "inverse", "stop.iterations": 5}


def test_folder_names_are_safe_and_different():
    names = ["a/b", "a b", "A?B", "../x", "psi=hinge(b=2)", "größe", "///", "x" * 300, "x" * 301]
    found = variants.slugs(names)
    assert found[:7] == ["a-b", "a-b-2", "A-B-3", "x", "psi=hinge-b=2", "gr-e", "variant"]
    assert len({slug.lower() for slug in found}) == len(names)
    assert max(map(len, found)) < 100
