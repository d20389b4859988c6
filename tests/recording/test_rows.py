"""Rows that are built fast are the rows of the plain way, to the last byte."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.recording import rows
from asyncfeel.recording.rows import StalenessRows
from asyncfeel.recording.tables import Table
from asyncfeel.theory import mixing
from asyncfeel.world.profiles import Profiles

FLOATS = st.floats(0, 1e9, allow_nan=False)


def plainly(table_rows):
    return "".join(",".join(map(repr, row)) + "\n" for row in table_rows)


@given(st.data(), st.integers(0, 10**6), FLOATS)
def test_staleness_of_every_server(data, iteration, time_s):
    servers = data.draw(st.integers(1, 12))
    builder = StalenessRows(servers)
    for _ in range(3):
        staleness = data.draw(st.lists(st.integers(0, 200), min_size=servers, max_size=servers))
        trigger = data.draw(st.integers(0, servers - 1))
        column = data.draw(st.dictionaries(st.integers(0, servers - 1), FLOATS, min_size=1))
        columns = {trigger: column}
        wanted = [
            (iteration, time_s, trigger, server, staleness[server], weight)
            for server, weight in enumerate(mixing.into(columns, trigger, servers))
        ]
        assert builder.text(iteration, time_s, trigger, staleness, column) == plainly(wanted)


def test_a_server_that_nobody_has_heard_of_for_ages_costs_no_memory():
    builder = StalenessRows(2)
    text = builder.text(10**8, 0.5, 1, [10**8, 3], {1: 1.0})
    assert text == "100000000,0.5,1,0,100000000,0.0\n100000000,0.5,1,1,3,1.0\n"
    assert not builder._strangers


@pytest.mark.parametrize("clients", [1, 7, 250])
def test_clients_in_pieces(clients, monkeypatch):
    monkeypatch.setattr(rows, "AT_ONCE", 100)
    rng = np.random.default_rng(1)
    profiles = Profiles(rng.integers(0, 3, clients), rng.integers(1, 9, clients), rng.uniform(1e8, 1e9, clients))
    columns = (profiles.server.tolist(), profiles.samples.tolist(), profiles.flops.tolist())
    pieces = list(rows.clients(profiles))
    assert "".join(pieces) == plainly(zip(range(clients), *columns, strict=True))
    assert len(pieces) == -(-clients // 100)


def test_every_whole_iteration_can_be_read_at_once_and_the_digest_is_that_of_the_file(tmp_path):
    table = Table(tmp_path, "mixing")
    table.write([(0, 1, 2, 0.5)])
    table.append("1,2,3,0.25\n")
    assert (tmp_path / "mixing.csv").read_text() == "iteration,source,target,weight\n0,1,2,0.5\n1,2,3,0.25\n"
    assert table.digest == hashlib.sha256((tmp_path / "mixing.csv").read_bytes()).hexdigest()
    table.close()
