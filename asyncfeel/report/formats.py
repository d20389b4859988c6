"""Tables written in the formats that other programs read; every float comes back as it was."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from asyncfeel.errors import InputError
from asyncfeel.recording.tables import WORDS, kind
from asyncfeel.report.streaming import Stream, columns

NO_JSON = frozenset({"nan", "inf", "-inf"})
"""Numbers that JSON does not know."""

Write = Callable[[Path, Stream], None]


def csv(path: Path, stream: Stream) -> None:
    """The rows as they are in the run folder."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(stream.titles) + "\n")
        for rows in stream.pieces:
            file.writelines(",".join(row) + "\n" for row in rows)


def json_rows(path: Path, stream: Stream) -> None:
    """A list with an object for each row; null where JSON has no number for it."""
    names = [f"{json.dumps(title)}: " for title in stream.titles]
    words = [title in WORDS for title in stream.titles]
    between = "\n"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("[")
        for rows in stream.pieces:
            for row in rows:
                values = (_json(text, word) for text, word in zip(row, words, strict=True))
                fields = (name + value for name, value in zip(names, values, strict=True))
                file.write(f"{between}{{{', '.join(fields)}}}")
                between = ",\n"
        file.write("\n]\n")


def _json(text: str, word: bool) -> str:
    return json.dumps(text) if word else "null" if text in NO_JSON else text


def parquet(path: Path, stream: Stream) -> None:
    """A column of 64-bit numbers, or of texts, for each title."""
    arrow, files = pyarrow()
    types = {"i": arrow.int64(), "f": arrow.float64(), "U": arrow.string()}
    schema = arrow.schema([(title, types[np.dtype(kind(title)).kind]) for title in stream.titles])
    with files.ParquetWriter(str(path), schema) as writer:
        for rows in stream.pieces:
            arrays = [arrow.array(values) for values in columns(stream.titles, rows).values()]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def npz(path: Path, stream: Stream) -> None:
    """An array for each title, in numpy's own format."""
    pieces = [columns(stream.titles, rows) for rows in stream.pieces]
    complete = {title: np.concatenate([piece[title] for piece in pieces]) for title in stream.titles}
    with path.open("wb") as file:
        np.savez(file, **complete)  # type: ignore[arg-type]


def pyarrow() -> tuple[Any, Any]:
    """The package pyarrow and its part for Parquet, or an error that says how to get them."""
    try:
        import pyarrow
        from pyarrow import parquet as files
    except ImportError as error:
        raise InputError("--format parquet needs the package pyarrow: pip install 'asyncfeel[parquet]'") from error
    return pyarrow, files


WRITERS: dict[str, Write] = {"csv": csv, "json": json_rows, "parquet": parquet, "npz": npz}
