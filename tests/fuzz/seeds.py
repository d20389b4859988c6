"""Writes the seeds of the corpus: small inputs, sound ones and hostile ones, for every target of the fuzzer."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np

from tests.fuzz.fuzz import CORPUS
from tests.fuzz.targets import FILES, sound_run

ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph><node id="&b;"/></graph></graphml>'
)
GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="r" for="edge" attr.name="rate_bps" '
    'attr.type="double"/><graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b">'
    '<data key="r">1e6</data></edge></graph></graphml>'
)
LINKS = '{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}'
TEXTS = {
    "scenario": [
        'seed = 3\npsi = "hinge"\n[stop]\nuntil_s = "1m"\n[network]\nuplink_bps = "2 Mbps"\n',
        "[federation]\nclients = 1979-05-27\n",
        "seed = 0x" + "f" * 5000,
        "seed = " + "9" * 5000,
        "a = " + "[" * 5000,
        "a." * 3000 + "a = 1",
        "[federation]\nclients = 1000000000000\nservers = 1000000000000\n",
        '[psi]\nkind = "os:system"\ncommand = "exit 3"\n',
        "\ufeffseed = 1\r\n",
        "seed = 1\nseed = 2\n",
        "[evaluation]\nevery_s = 1e-300\n[stop]\nuntil_s = 1e300\n",
    ],
    "assignment": [
        "psi.a=0.5",
        "seed=nan",
        "a.b.c.d=[1,{x=2}]",
        "training.learning_rate=1e999",
        "seed=0x" + "f" * 3000,
    ],
    "quantity": ["2h", "5 Mbps", "1e308G", "-0", "nan", "1" * 3000, "\u0661s", "..", "1e"],
    "lists": ["1..3,7", "0.9,0.5", "psi.kind=inverse,{kind='hinge',b=2}", "999999999999999999..1", "x=[,]", "x='"],
    "comparison": ['seeds = [1]\ntargets = []\n[vary]\n"psi.kind" = ["hinge"]\n[set]\n[scenario]\n', "seeds = 3\n"],
    "node_link": [
        LINKS,
        "[" * 5000,
        '{"nodes": [{"id": 1e999}, {"id": NaN}], "links": []}',
        '{"nodes": [{"id": 0.0}, {"id": true}], "edges": [{"source": 0, "target": 1}]}',
        '{"nodes": [], "nodes": []}',
        '{"nodes": [{"id": [[[]]]}], "edges": [], "graph": {"a": ' + "9" * 5000 + "}}",
    ],
    "graphml": [GRAPHML, ENTITIES, "<a>" * 3000, GRAPHML.replace("1e6", "9" * 400)],
    "clients": [
        "flops\n1e9\n2e9\n3e9\n",
        "flops,flops\n1,2\n",
        "flops\n" + "1" * 70000,
        "flops\n\0\n1\n",
        '"\n',
        "\ufeffflops\n1\n2\n3\n",
    ],
    "table": [
        "iteration,time_s,server,started_s,deadline_s,steps_min,steps_mean,steps_max,staleness\n0,1.0,0,0.0,1.0,1,1.0,1,0\n",
        "iteration,iteration\n0,1\n",
        "iteration,time_s,server,started_s,deadline_s,steps_min,steps_mean,steps_max,staleness\n1e30,nan,-1,,,,,,\n",
    ],
    "kind": [
        "ring",
        "os:system",
        "../ring",
        "a..b:c",
        "x" * 5000,
        "\0",
        "nsfnet",
        "torch:load",
        ".py:x",
        ":",
        "a.json",
    ],
}


def archive(**arrays: object) -> bytes:
    """An .npz file."""
    data = io.BytesIO()
    np.savez_compressed(data, **arrays)  # type: ignore[arg-type]
    return data.getvalue()


def boxed(member: bytes) -> bytes:
    """An .npz file all of whose arrays are these bytes."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as box:
        for name in ("x_train", "y_train", "x_test", "y_test"):
            box.writestr(f"{name}.npy", member)
    return data.getvalue()


def header(shape: str, kind: str = "<f4") -> bytes:
    """An .npy file with a header and nothing else."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def archives() -> list[bytes]:
    """Data files: a sound one, and those that should be refused."""
    x, y = np.zeros((4, 3), np.float32), np.array([0, 1, 0, 1])
    sound = archive(x_train=x, y_train=y, x_test=x, y_test=y)
    return [
        sound,
        sound[: len(sound) // 2],
        archive(x_train=np.asfortranarray(x), y_train=y, x_test=x, y_test=y),
        archive(x_train=np.float32(3), y_train=y, x_test=x, y_test=y),
        archive(x_train=np.array([None]), y_train=y, x_test=x, y_test=y),
        *(boxed(header(shape)) for shape in ("(1000000000000,)", "(-1, 3)", "(" * 200, "(10**9, 3)")),
        boxed(header("(3, 3)", "|O")),
    ]


def damaged() -> list[bytes]:
    """Files of a run folder: the first byte says which."""
    found = [bytes([number]) + (sound_run() / name).read_bytes() for number, name in enumerate(FILES)]
    facts = json.loads((sound_run() / "manifest.json").read_text())
    for change in (
        {"servers": [3]},
        {"wall": {}},
        {"time_s": "x"},
        {"process": -1, "status": "running"},
        {"seed": 10**400},
    ):
        found.append(bytes([0]) + json.dumps(facts | change).encode())
    rows = (sound_run() / "iterations.csv").read_text()
    found += [bytes([4]) + (rows + rows.splitlines()[-1].replace("7,", "999999999999,", 1) + "\n").encode()]
    found += [bytes([3]) + b"client,server,samples,flops\n0,4000000000000,1,1.0\n"]
    return found


def main() -> None:
    """Write all of them."""
    every = {name: [text.encode("utf-8", "surrogateescape") for text in texts] for name, texts in TEXTS.items()}
    for name, contents in (every | {"npz": archives(), "folder": damaged()}).items():
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(contents):
            Path(CORPUS, name, f"seed-{number:02}").write_bytes(content)


if __name__ == "__main__":
    main()
