"""Data files: what is read, when, and what is refused."""

import numpy as np
import pytest

from asyncfeel.errors import InputError
from asyncfeel.learning.datasets.files import Npz, from_npz

GOOD = {
    "x_train": np.zeros((6, 4, 4, 3), dtype=np.uint8),
    "y_train": np.array([0, 1, 2, 0, 1, 2]),
    "x_test": np.ones((2, 4, 4, 3), dtype=np.uint8),
    "y_test": np.array([0, 2]),
}


def save(path, **changes):
    arrays = {name: array for name, array in (GOOD | changes).items() if array is not None}
    np.savez_compressed(path / "mine.npz", **arrays)
    return path / "mine.npz"


def test_a_file_in_the_form_of_keras_is_read(tmp_path):
    data = from_npz(save(tmp_path, y_train=GOOD["y_train"][:, None].astype(np.uint8)))
    assert data.shape == (4, 4, 3)
    assert data.classes == 3
    assert data.y_train.tolist() == [0, 1, 2, 0, 1, 2]
    assert data.y_train.dtype == np.int64
    assert data.owners is None


def test_grey_images_get_a_channel_and_features_become_float32(tmp_path):
    grey = from_npz(save(tmp_path, x_train=np.zeros((6, 4, 4), np.uint8), x_test=np.zeros((2, 4, 4), np.uint8)))
    assert grey.shape == (4, 4, 1)
    plain = from_npz(save(tmp_path, x_train=np.zeros((6, 5)), x_test=np.zeros((2, 5))))
    assert plain.shape == (5,)
    assert plain.x_train.dtype == np.float32
    assert not plain.is_image


def test_owners_are_kept(tmp_path):
    assert from_npz(save(tmp_path, owners=np.array([0, 0, 1, 1, 2, 2]))).owners.tolist() == [0, 0, 1, 1, 2, 2]


def test_labels_are_read_without_unpacking_the_samples(tmp_path, monkeypatch):
    read = []
    original = Npz.__getitem__
    monkeypatch.setattr(Npz, "__getitem__", lambda self, name: read.append(name) or original(self, name))
    data = from_npz(save(tmp_path))
    assert data.y_train.size == 6
    assert set(read) == {"y_train", "y_test"}
    assert data.x_train is data.x_train
    assert read.count("x_train") == 1


BAD = {
    "no array y_test": {"y_test": None},
    "no array x_train": {"x_train": None},
    "x_train holds int64": {"x_train": np.zeros((6, 5), dtype=np.int64)},
    "x_train holds object": {"x_train": np.array([None] * 6, dtype=object)},
    "has the shape \\(6,\\)": {"x_train": np.zeros(6)},
    "has the shape \\(0, 4\\)": {"x_train": np.zeros((0, 4))},
    "the last axis must be": {"x_train": np.zeros((6, 3, 4, 8), dtype=np.uint8)},
    "they must agree": {"x_test": np.zeros((2, 4, 5, 3), dtype=np.uint8)},
    "y_train holds float64": {"y_train": np.zeros(6)},
    "x_train has 6 samples": {"y_train": np.zeros(5, dtype=int)},
    "but has 1, 2": {"y_train": np.array([1, 2, 1, 2, 1, 2])},
    "but has -1, 0, 1, 2": {"y_train": np.array([-1, 0, 1, 2, 0, 0])},
    "y_test has the label 7": {"y_test": np.array([0, 7])},
    "owners must be 6 whole numbers": {"owners": np.zeros(5, dtype=int)},
    "owners must count from 0": {"owners": np.array([-1, 0, 0, 0, 0, 0])},
}


@pytest.mark.parametrize(("problem", "changes"), BAD.items(), ids=list(BAD))
def test_a_bad_file_is_refused_with_its_name_and_the_reason(tmp_path, problem: str, changes):
    path = save(tmp_path, **changes)
    with pytest.raises(InputError, match=problem) as caught:
        from_npz(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "notes.npz"
    path.write_text("not an archive")
    with pytest.raises(InputError, match=r"cannot be read as an .npz file"):
        from_npz(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nothing.npz' does not exist"):
        from_npz(tmp_path / "nothing.npz")


def test_a_damaged_archive_is_reported_as_such(tmp_path):
    noise = np.random.default_rng(1).integers(0, 256, (6, 40, 40, 3), dtype=np.uint8)
    path = save(tmp_path, x_train=noise, x_test=noise[:2])
    content = bytearray(path.read_bytes())
    content[5000:5040] = bytes(40)
    path.write_bytes(content)
    with pytest.raises(InputError, match="x_train that cannot be read"):
        _ = from_npz(path).x_train


def test_samples_that_are_not_finite_are_found_when_they_are_read(tmp_path):
    bad = np.full((6, 4), np.inf)
    data = from_npz(save(tmp_path, x_train=bad, x_test=np.zeros((2, 4))))
    with pytest.raises(InputError, match=r"mine.npz' holds values that are not finite"):
        _ = data.x_train
