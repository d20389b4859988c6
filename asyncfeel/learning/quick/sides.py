"""Winograd's transforms F(4, 3) along one side of a window of pixels.

Each works on whole tensors, one for each place along the side, with room for two more. `window` and `tile` are the
matrices B' and A' of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (CVPR 2016), written as sums
that share their parts; `KERNEL` is their G, and the others are transposes.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, add, sub

Tensors = Sequence[Tensor] | Tensor

KERNEL = torch.tensor(
    [
        [1 / 4, 0, 0],
        [-1 / 6, -1 / 6, -1 / 6],
        [-1 / 6, 1 / 6, -1 / 6],
        [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6],
        [0, 0, 1],
    ],
    dtype=torch.float64,
)
"""The three values along the side of a kernel, at the six places of a window."""


def window(d: Tensors, out: Tensors, room: Tensor) -> None:
    """4 d0 - 5 d2 + d4, (d4 - 4 d2) +- (d3 - 4 d1), (d4 - d2) +- 2 (d3 - d1), 4 d1 - 5 d3 + d5."""
    one, two = room
    sub(d[4], d[2], alpha=4, out=one)
    sub(d[3], d[1], alpha=4, out=two)
    add(one, two, out=out[1])
    sub(one, two, out=out[2])
    sub(d[4], d[2], out=one)
    sub(d[3], d[1], out=two)
    add(one, two, alpha=2, out=out[3])
    sub(one, two, alpha=2, out=out[4])
    sub(d[5], d[3], out=out[5]).sub_(two, alpha=4)
    sub(d[0], d[2], out=two)
    add(one, two, alpha=4, out=out[0])


def window_transposed(r: Tensors, out: Tensors, room: Tensor) -> None:
    """For s, d = r1 +- r2 and t, e = r3 +- r4: 4 r0, 4 r5 - 4 d - 2 e, -5 r0 - 4 s - t, d + 2 e - 5 r5.

    And more for the next tile's first two: r0 + s + t, r5.
    """
    one, two = room
    torch.mul(r[0], 4, out=out[0])
    add(r[1], r[2], out=one)
    add(r[3], r[4], out=two)
    two.add_(one).add_(r[0])
    out[4].add_(two)
    torch.mul(one.add_(r[0], alpha=4 / 3), -3, out=out[2]).sub_(two)
    sub(r[1], r[2], out=one)
    sub(r[3], r[4], out=two)
    add(one, two, alpha=2, out=out[3]).sub_(r[5], alpha=5)
    sub(r[5], one, out=one).mul_(4)
    sub(one, two, alpha=2, out=out[1])
    out[5].add_(r[5])


def tile(m: Tensors, out: Tensors, room: Tensor) -> None:
    """m0 + s + t, d + 2 e, s + 4 t, d + 8 e + m5 for s, d = m1 +- m2 and t, e = m3 +- m4."""
    one, two = room
    add(m[1], m[2], out=one)
    add(m[3], m[4], out=two)
    add(one, two, alpha=4, out=out[2])
    add(one, two, out=out[0]).add_(m[0])
    sub(m[1], m[2], out=one)
    sub(m[3], m[4], out=two)
    add(one, two, alpha=2, out=out[1])
    add(one, two, alpha=8, out=out[3]).add_(m[5])


def tile_transposed(y: Tensors, out: Tensors, room: Tensor) -> None:
    """y0, (y0 + y2) +- (y1 + y3), (y0 + 4 y2) +- 2 (y1 + 4 y3), y3."""
    one, two = room
    out[0].copy_(y[0])
    add(y[0], y[2], out=one)
    add(y[1], y[3], out=two)
    add(one, two, out=out[1])
    sub(one, two, out=out[2])
    add(y[0], y[2], alpha=4, out=one)
    add(y[1], y[3], alpha=4, out=two)
    add(one, two, alpha=2, out=out[3])
    sub(one, two, alpha=2, out=out[4])
    out[5].copy_(y[3])
