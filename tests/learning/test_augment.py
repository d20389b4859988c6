"""Augmentation: what it does to an image, and that it is repeatable."""

import numpy as np
import pytest
import torch

from asyncfeel.errors import InputError
from asyncfeel.jobs import Job
from asyncfeel.learning import augment, models

IMAGES = torch.arange(2 * 8 * 8 * 3, dtype=torch.int64).remainder(251).to(torch.uint8).reshape(2, 8, 8, 3)


def test_no_flip_and_a_shift_by_the_margin_leave_the_image_alone():
    assert torch.equal(augment.apply(IMAGES, torch.tensor([[0, 4, 4], [0, 4, 4]])), IMAGES)


def test_a_flip_mirrors_each_image_by_itself():
    flipped = augment.apply(IMAGES, torch.tensor([[1, 4, 4], [0, 4, 4]]))
    assert torch.equal(flipped[0], IMAGES[0].flip(1))
    assert torch.equal(flipped[1], IMAGES[1])


def test_a_shift_brings_in_black_and_moves_the_rest():
    moved = augment.apply(IMAGES, torch.tensor([[0, 0, 6], [0, 4, 4]]))
    assert not moved[0, :4].any()
    assert torch.equal(moved[0, 4:, :6], IMAGES[0, :4, 2:])
    assert not moved[0, :, 6:].any()


def test_moves_are_uniform_and_the_first_do_not_depend_on_the_number_of_steps():
    moves = augment.draw(np.random.default_rng(1), 2000, 10)
    assert np.array_equal(augment.draw(np.random.default_rng(1), 3, 10), moves[:3])
    assert np.bincount(moves[..., 0].ravel()) / 20_000 == pytest.approx([0.5, 0.5], abs=0.02)
    for axis in (1, 2):
        assert np.bincount(moves[..., axis].ravel()) / 20_000 == pytest.approx([1 / 9] * 9, abs=0.02)


def test_augmented_training_is_repeatable_and_differs_from_plain_training(make, stop, photographs):
    learners = [make(models.cnn, photographs, augment=on, batch=3) for on in (True, True, False)]
    one, two, plain = (it.trainer(stop).train(Job(0, 0, it.initial(), 6)).model for it in learners)
    assert torch.equal(one, two)
    assert not torch.equal(one, plain)


def test_augmenting_anything_but_colour_images_is_refused(make):
    with pytest.raises(InputError, match="augment is for colour images"):
        make(augment=True)
