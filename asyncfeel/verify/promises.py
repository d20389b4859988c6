"""What each system promises of its mixing matrices (docs/reading-the-paper.md, A1; docs/algorithms.md)."""

from dataclasses import dataclass

from asyncfeel.plugins import Plugin


@dataclass(frozen=True)
class Promise:
    """What holds for P_k, beside columns that sum to 1."""

    symmetric: bool = False
    non_negative: bool = False
    keeps_shares: bool = False
    """P mtil = mtil: the data-weighted mean of the models stays."""
    one_hop: bool = False
    """Only neighbours mix."""


SYMMETRIC = Promise(symmetric=True, non_negative=True, one_hop=True)
BALANCED = Promise(keeps_shares=True, one_hop=True)


def said(promise: Promise) -> str:
    """What is promised, in words."""
    words = {
        "symmetric": promise.symmetric,
        "non-negative": promise.non_negative,
        "P mtil = mtil": promise.keeps_shares,
    }
    return ", ".join(["columns sum to 1", *(word for word, holds in words.items() if holds)])


def promise(algorithm: Plugin, triggers: int) -> Promise:
    """What an iteration of so many servers promises; of a system of a user's own nothing is known."""
    kind, options = algorithm.kind, algorithm.options
    if kind in ("ad-psgd", "d-psgd"):
        return SYMMETRIC
    if kind == "async-sd-feel":
        if triggers > 1:
            return BALANCED  # simultaneous completions: one synchronous mixing (A14)
        weighted = options.get("mixing") == "weighted"
        return Promise(non_negative=True, keeps_shares=True, one_hop=True) if weighted else SYMMETRIC
    if kind == "sync-sd-feel":
        metropolis = options.get("mixing") == "metropolis"
        return Promise(False, metropolis, True, one_hop=options.get("alpha", 1) == 1)
    if kind == "mll-sgd":
        return BALANCED
    return Promise(non_negative=True, keeps_shares=True) if kind == "hierfavg" else Promise()
