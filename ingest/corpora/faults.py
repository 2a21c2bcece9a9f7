"""The catalogue of everything that can be wrong with a corpus, from faults.toml.

Messages, docs and tests refer to a fault by its id, which is stable.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

TEXT = "text"
LINES = "lines"
ANY = "any"  # faults of the file itself, whatever its format


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: its id, the formats that it occurs in, its meaning and its remedy.

    A fault that `is_mended` is an error only with --strict; by default it is a `Departure`.
    """

    id: str
    formats: tuple[str, ...]
    meaning: str
    remedy: str
    is_mended: bool = False


_TEXT = files("attnbank.ingest.corpora").joinpath("faults.toml").read_text(encoding="utf-8")
FAULTS = {
    id: FaultKind(id, tuple(entry.pop("formats")), **entry)
    for id, entry in tomllib.loads(_TEXT).items()
}
