"""A run as a Chrome trace, which Perfetto opens: a track for each client and server, arrows for models."""

import json
import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.recording import tables
from asyncfeel.replay import Flow, Phase, Replay, replay

HEAD = '{"displayTimeUnit":"ms","otherData":{"made":"asyncfeel timeline"},"traceEvents":[\n'
Event = dict[str, Any]
Key = tuple[str, int]


@dataclass(frozen=True)
class Written:
    """What a trace has."""

    path: Path
    slices: int
    flows: int


def ns(seconds: float) -> int:
    """Whole nanoseconds: finer times than these do not survive in Perfetto."""
    return round(seconds * 1e9)


def us(nanoseconds: int) -> float:
    """Microseconds, as a trace counts them."""
    return nanoseconds / 1000


class Tracks:
    """The slices of every track, in whole nanoseconds and in their order."""

    def __init__(self, found: Replay, from_s: float) -> None:
        self.homes = found.homes
        self.slices: dict[Key, list[tuple[int, int, Phase]]] = defaultdict(list)
        for one in found.phases:
            start, end = ns(max(one.start_s, from_s)), ns(one.end_s)
            if end > start + 1:
                self.slices[one.who, one.number].append((start, end, one))

    def place(self, key: Key) -> tuple[int, int]:
        """The process and the thread of a track."""
        who, number = key
        return (1, number + 1) if who == "server" else (2 + self.homes[number], number + 1)

    def leaving(self, flow: Flow) -> int | None:
        """The nanosecond, inside a slice of its source, at which a model leaves."""
        slices, sent = self.slices.get(flow.source, []), ns(flow.sent_s)
        at = bisect_right(slices, sent, key=lambda one: one[0]) - 1
        if at < 0:
            return None
        start, end, phase = slices[at]
        if flow.kind == "upload" and phase.kind != "upload" and start == sent:
            if at == 0:
                return None
            start, end, phase = slices[at - 1]  # an upload that takes no time leaves what was computed
        return min(max(sent, start + 1), end - 1) if sent < end or flow.kind == "upload" else None

    def arriving(self, flow: Flow) -> int | None:
        """The nanosecond, inside a slice of its target, at which a model arrives."""
        slices, arrived = self.slices.get(flow.target, []), ns(flow.arrived_s)
        instant = flow.arrived_s == flow.sent_s
        at = bisect_left(slices, arrived + instant, key=lambda one: one[1])
        if at == len(slices):
            return None
        start, end, _ = slices[at]
        return min(max(arrived, start + 1), end - 1)


def write(folder: Path, out: Path | None = None, from_s: float = 0.0, until_s: float | None = None) -> Written:
    """Write the trace of a run, or of a span of it."""
    if from_s < 0 or (until_s is not None and until_s <= from_s):
        raise InputError(f"--from {from_s} and --until {until_s} leave nothing: --until must be later than --from")
    path = out or folder / "timeline.json"
    _check(path)
    found = replay(folder, until_s)
    if from_s >= found.end_s:
        raise InputError(f"--from {from_s} is not before the end of the run, which is at {found.end_s} s")
    tracks = Tracks(found, from_s)
    counts = {"X": 0, "f": 0}
    try:
        with path.open("w", encoding="utf-8") as file:
            file.write(HEAD)
            for number, event in enumerate(_events(folder, found, tracks, from_s)):
                counts[event["ph"]] = counts.get(event["ph"], 0) + 1
                file.write((",\n" if number else "") + json.dumps(event, allow_nan=False))
            file.write("\n]}\n")
    except OSError as error:
        raise InputError(f"the file {str(path)!r} cannot be written: {error.strerror}") from error
    return Written(path, counts["X"], counts["f"])


def _check(path: Path) -> None:
    """An error if the file is there and is no timeline."""
    if not path.exists():
        return
    if path.is_file():
        with safe_files.opened(path, "the file") as file:
            if file.read(len(HEAD)) == HEAD.encode():
                return
    raise InputError(f"{str(path)!r} exists and is not a timeline: choose another --out")


def _events(folder: Path, found: Replay, tracks: Tracks, from_s: float) -> Iterator[Event]:
    yield from _names(tracks)
    yield from _slices(folder, tracks)
    for number, flow in enumerate(found.flows):
        if flow.sent_s < from_s:
            continue
        leaves, arrives = tracks.leaving(flow), tracks.arriving(flow)
        if leaves is not None and arrives is not None and leaves <= arrives:
            common = {"cat": "model", "name": flow.kind, "id": number}
            yield common | {"ph": "s", "ts": us(leaves)} | _on(tracks, flow.source)
            yield common | {"ph": "f", "bp": "e", "ts": us(arrives)} | _on(tracks, flow.target)
    yield from _counters(folder, from_s, found.end_s)


def _on(tracks: Tracks, key: Key) -> Event:
    process, thread = tracks.place(key)
    return {"pid": process, "tid": thread}


def _names(tracks: Tracks) -> Iterator[Event]:
    seen: set[int] = set()
    for key in sorted(tracks.slices, key=tracks.place):
        process, thread = tracks.place(key)
        if process not in seen:
            seen.add(process)
            title = "servers" if process == 1 else f"clients of server {process - 2}"
            yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": title}}
            yield {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}
        where = {"ph": "M", "pid": process, "tid": thread}
        yield where | {"name": "thread_name", "args": {"name": f"{key[0]} {key[1]}"}}
        yield where | {"name": "thread_sort_index", "args": {"sort_index": thread}}


def _slices(folder: Path, tracks: Tracks) -> Iterator[Event]:
    table = tables.read(folder, "iterations")
    names = ("server", "time_s", "started_s", "iteration", "staleness", "steps_min", "steps_max")
    rows: dict[int, list[Any]] = defaultdict(list)
    for server, time_s, *row in zip(*(table[name].tolist() for name in names), strict=True):
        rows[server].append((time_s, *row))
    for key, slices in tracks.slices.items():
        own = rows[key[1] if key[0] == "server" else tracks.homes[key[1]]]
        for start, end, phase in slices:
            span = {"ts": us(start), "dur": us(end - start)}
            yield {"ph": "X", "cat": key[0], "name": phase.kind} | span | _on(tracks, key) | {"args": _args(own, phase)}


def _args(rows: list[Any], phase: Phase) -> Event:
    """The iteration that a phase belongs to, where there is just one."""
    at = bisect_left(rows, phase.end_s, key=lambda row: row[0])
    if at == len(rows) or phase.start_s < rows[at][1]:
        return {}
    if phase.who == "client" and at and rows[at][1] < rows[at - 1][0]:
        return {}
    _, _, iteration, staleness, fewest, most = rows[at]
    steps = {"steps": fewest} if fewest == most else {"steps_min": fewest, "steps_max": most}
    return {"iteration": iteration, "staleness": staleness, **steps}


def _counters(folder: Path, from_s: float, end_s: float) -> Iterator[Event]:
    table = tables.read(folder, "iterations")
    columns = (table["time_s"].tolist(), table["server"].tolist(), table["staleness"].tolist())
    wanted = [(time_s, f"staleness of server {server}", value) for time_s, server, value in zip(*columns, strict=True)]
    if (folder / "metrics.csv").exists():
        metrics = tables.read(folder, "metrics")
        for name, title in [("test_accuracy", "test accuracy"), ("train_loss", "train loss")]:
            values = zip(metrics["time_s"].tolist(), metrics[name].tolist(), strict=True)
            wanted += [(time_s, title, value) for time_s, value in values if math.isfinite(value)]
    for time_s, title, value in wanted:
        if from_s <= time_s <= end_s:
            yield {"ph": "C", "pid": 1, "name": title, "ts": us(ns(time_s)), "args": {"value": value}}
