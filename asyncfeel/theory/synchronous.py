"""The synchronous mixing matrix, and how fast it brings servers to one model (section V of SD-FEEL).

`P = I - 2/(lambda_1 + lambda_{D-1}) L Omega^-1` keeps the data-weighted mean (`P mtil = mtil`) and is
the fastest of its form. Its entries may be negative, which is right: they are not clipped.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.theory.mixing import Columns

Matrix = NDArray[np.float64]
Link = tuple[int, int]
Rule = Literal["optimal", "metropolis"]
MOST_SERVERS = 5_000
"""How many servers a whole matrix may have: its eigenvalues take minutes, and the matrix 200 MB."""


def laplacian(servers: int, links: Iterable[Link]) -> Matrix:
    """The graph's Laplacian L: degrees on the diagonal, -1 for each link."""
    if servers > MOST_SERVERS:
        raise InputError(
            f"a synchronous mixing matrix of {servers:,} servers is too large: use at most {MOST_SERVERS:,} servers, "
            "or an algorithm that mixes asynchronously"
        )
    matrix = np.zeros((servers, servers))
    for a, b in links:
        matrix[a, a] += 1
        matrix[b, b] += 1
        matrix[a, b] -= 1
        matrix[b, a] -= 1
    return matrix


def optimal(links: Sequence[Link], shares: Sequence[float]) -> Matrix:
    """The paper's P for synchronous mixing: column sums 1, and P mtil = mtil.

    >>> optimal([(0, 1)], [0.5, 0.5]).round(9).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    servers = len(shares)
    if not links:
        return np.eye(servers)
    flow = laplacian(servers, links) / np.asarray(shares)
    low, high = nonzero_extremes(links, shares)
    matrix: Matrix = np.eye(servers) - 2 / (low + high) * flow
    return matrix


def nonzero_extremes(links: Sequence[Link], shares: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest non-zero eigenvalue of L Omega^-1.

    They are those of the symmetric Omega^-1/2 L Omega^-1/2. One eigenvalue is zero per connected
    part of the graph, so they are counted off rather than compared with a tolerance.
    """
    servers = len(shares)
    root = 1 / np.sqrt(np.asarray(shares))
    eigenvalues = np.linalg.eigvalsh(root[:, None] * laplacian(servers, links) * root[None, :])
    positive = eigenvalues[parts(servers, links) :]
    return float(positive[0]), float(positive[-1])


def parts(servers: int, links: Iterable[Link]) -> int:
    """The number of connected parts of the graph."""
    root = list(range(servers))

    def find(server: int) -> int:
        while root[server] != server:
            root[server] = root[root[server]]
            server = root[server]
        return server

    for a, b in links:
        root[find(a)] = find(b)
    return len({find(server) for server in range(servers)})


def metropolis(links: Sequence[Link], shares: Sequence[float]) -> Matrix:
    """Metropolis-Hastings weights: non-negative, column sums 1, and P mtil = mtil.

    Server j passes on to a neighbour i the share `min(1/(1+deg_j), mtil_i/(mtil_j (1+deg_i)))`.
    """
    servers = len(shares)
    degree = np.diag(laplacian(servers, links))
    matrix = np.zeros((servers, servers))
    for a, b in links:
        flow = min(shares[a] / (1 + degree[a]), shares[b] / (1 + degree[b]))
        matrix[a, b] = flow / shares[b]
        matrix[b, a] = flow / shares[a]
    return matrix + np.diag(1 - matrix.sum(axis=0))


def synchronous(rule: Rule, links: Sequence[Link], shares: Sequence[float], rounds: int = 1) -> Columns:
    """The columns of P^rounds, for one synchronous exchange of all servers."""
    matrix = np.linalg.matrix_power((optimal if rule == "optimal" else metropolis)(links, shares), rounds)
    return columns(matrix)


def columns(matrix: Matrix) -> Columns:
    """A dense matrix as its columns, without zeros beside the diagonal and without columns of the identity."""
    unit = np.eye(len(matrix))
    shown = (matrix != 0) | (unit != 0)
    return {
        int(target): {int(source): float(matrix[source, target]) for source in np.flatnonzero(shown[:, target])}
        for target in range(len(matrix))
        if not np.array_equal(matrix[:, target], unit[:, target])
    }


def zeta(matrix: Matrix) -> float:
    """The largest modulus of the eigenvalues of P beside its 1: the contraction of one round.

    >>> ring = [(server, (server + 1) % 6) for server in range(6)]
    >>> round(zeta(optimal(ring, [1 / 6] * 6)), 9)
    0.6
    """
    moduli = sorted(np.abs(np.linalg.eigvals(matrix)), reverse=True)
    return float(moduli[1]) if len(moduli) > 1 else 0.0


def contraction(links: Sequence[Link], shares: Sequence[float]) -> float:
    """The zeta of the optimal P of a connected graph, (lambda_1 - lambda_{D-1}) / (lambda_1 + lambda_{D-1}).

    It needs the eigenvalues of a symmetric matrix only, which is many times faster for a thousand servers.

    >>> ring = [(server, (server + 1) % 6) for server in range(6)]
    >>> round(contraction(ring, [1 / 6] * 6), 9)
    0.6
    """
    if not links:
        return 0.0
    low, high = nonzero_extremes(links, shares)
    return (high - low) / (high + low)


def rounds_to(tolerance: float, contraction: float) -> int:
    """The rounds after which zeta^R is at most the tolerance (A19).

    >>> rounds_to(0.01, 0.6)
    10
    """
    if contraction <= 1e-12:
        return 1
    return max(1, math.ceil(math.log(tolerance) / math.log(contraction) - 1e-9))
