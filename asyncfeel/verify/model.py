"""model.safetensors: is it a whole file of tensors?"""

import math
from pathlib import Path
from typing import Any

from asyncfeel.verify import files
from asyncfeel.verify.findings import Check

LARGEST = 1 << 24
"""The bytes of a header beyond which it is none."""
BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def check(path: Path) -> Check:
    """Whether the header describes tensors that fill the file to its last byte."""
    found = Check("model.safetensors", "tensors")
    if not files.there(path):
        found.differ(path.name, "there is no such file")
        return found
    try:
        header, rest = _header(path)
        place = 0
        for one in sorted(header.values(), key=lambda tensor: tensor["data_offsets"]):
            start, end = one["data_offsets"]
            if start != place or end - start != math.prod(one["shape"]) * BYTES[one["dtype"]]:
                raise ValueError(f"a tensor from byte {start} to {end} does not fit")
            place = end
        if place != rest:
            raise ValueError(f"its tensors have {place} bytes, and the file has {rest} for them")
        found.rows = len(header)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        found.differ(path.name, f"it is no file of tensors ({type(error).__name__}: {error})")
    return found


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The header without its remarks, and the bytes that follow it."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > LARGEST:
            raise ValueError(f"a header of {size} bytes")
        header = files.parsed(file.read(size))
    header.pop("__metadata__", None)
    return header, path.stat().st_size - 8 - size
