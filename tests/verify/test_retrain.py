"""Training again: the same bits where they are promised, nearly the same elsewhere, and the identity."""

import json
import struct

import numpy as np
import pytest
import torch

from asyncfeel.recording.manifest import sealed
from asyncfeel.verify.command import verify
from asyncfeel.verify.identity import Identity
from asyncfeel.world.records import Completion, Trigger

from .conftest import make, manifest, resealed, told


def again(folder):
    """The checks that trained again."""
    verdict = verify(folder, retrain=True)
    return verdict.code, {
        check.name: check for check in verdict.checks if "again" in check.note or check.name == "identity"
    }


def elsewhere(folder, **changes):
    """The same folder, as if it came from another machine."""
    facts = manifest(folder)
    facts.pop("seal")
    facts["machine"] |= {"host": "elsewhere"}
    (folder / "manifest.json").write_text(sealed(json.dumps(facts | changes, indent=2)))


def bent(folder, by):
    """Add to the first number of the stored model, and fit every digest to it."""
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    (value,) = struct.unpack_from("<f", data, start)
    struct.pack_into("<f", data, start, value + by)
    path.write_bytes(data)
    from asyncfeel.verify import files

    resealed(folder, digests=manifest(folder)["digests"] | {"model": files.digest(path)})


def test_the_same_bits_and_the_identity_of_every_iteration(trained):
    code, checks = again(trained)
    assert code == 0
    assert "byte for byte" in checks["metrics.csv"].note
    assert checks["identity"].rows == 12
    assert checks["metrics.csv"].rows == 4
    assert checks["model.safetensors"].rows == (trained / "model.safetensors").stat().st_size


@pytest.mark.parametrize("executor", ["batched", "threads"])
def test_other_executors_repeat_themselves(executor, tmp_path):
    code, checks = again(make(tmp_path / "run", executor=executor, keys={"dataset.kind": "digits"}))
    assert code == 0
    assert "byte for byte" in checks["model.safetensors"].note


def test_a_model_that_was_never_trained_is_caught_under_all_digests(copied):
    bent(copied, 1e-6)
    assert verify(copied).code == 0
    code, checks = again(copied)
    assert code == 1
    assert not checks["model.safetensors"].ok


def test_a_loss_that_was_never_measured_is_caught_under_all_digests(copied):
    path = copied / "metrics.csv"
    lines = path.read_text().splitlines()
    fields = lines[2].split(",")
    lines[2] = ",".join([*fields[:3], "0.125", fields[4]])
    path.write_text("\n".join(lines) + "\n")
    resealed(copied)
    assert verify(copied).code == 0
    code, differences = told(copied, retrain=True)
    assert code == 1
    assert f"metrics.csv, row 2, test_loss: 0.125 instead of {fields[3]}" in differences


def test_another_machine_is_allowed_its_own_rounding_and_no_more(copied):
    elsewhere(copied)
    bent(copied, 1e-6)
    code, checks = again(copied)
    assert code == 0, checks
    assert "within 2%: made on another machine" in checks["model.safetensors"].note
    assert checks["metrics.csv"].rows == 4
    bent(copied, 1.0)
    assert again(copied)[0] == 1


def test_a_plan_trains_nothing(planned):
    verdict = verify(planned, retrain=True)
    assert verdict.code == 0
    assert verdict.checks[-1].note == "a plan trains nothing"


def test_nothing_is_trained_for_a_folder_that_differs_already(copied):
    (copied / "mixing.csv").write_text("")
    assert not any("again" in check.note and "trained" in check.note for check in verify(copied, retrain=True).checks)


class Node:
    def __init__(self, number, model):
        self.number, self.model = number, model


class Pair:
    """Two servers whose models change as they are told."""

    def __init__(self, first, second):
        self.servers = [Node(0, torch.tensor(first)), Node(1, torch.tensor(second))]
        self.shares = [0.25, 0.75]


@pytest.mark.parametrize(("error", "ok"), [(0.0, True), (1e-3, False)])
def test_the_identity_by_hand(error, ok):
    """Weights 0.75 and 0.25; server 0 triggers with yhat = 8 where it had 4, and its neighbour has 2."""
    identity, pair = Identity(), Pair([4.0], [2.0])
    identity.changing(pair)
    pair.servers[0].model = torch.tensor([0.75 * 8 + 0.25 * 2])
    pair.servers[1].model = torch.tensor([0.75 * 2 + 0.25 * 8 + error])
    trigger = Trigger(0, 0.0, 1.0, np.array([1]))
    columns = {0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}
    identity.completed(pair, Completion(0, 1.0, [trigger], [0, 0], columns))
    assert identity.check.rows == 1
    assert identity.check.ok is ok


def test_a_stranger_that_changes_breaks_the_identity():
    identity, pair = Identity(), Pair([4.0], [2.0])
    identity.changing(pair)
    pair.servers[1].model = torch.tensor([2.0])
    identity.completed(pair, Completion(0, 1.0, [Trigger(0, 0.0, 1.0, np.array([1]))], [0, 0], {}))
    assert "server 1 changed" in str(identity.check.differences[0])
