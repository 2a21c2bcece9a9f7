"""The corpus formats: every module of the folder `formats` that has a FORMAT is one.

A file's format is recognised by what stands in it, not by its name.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from attnbank.ingest.corpora import formats as folder
from attnbank.ingest.corpora.format import Format, Start


@cache
def formats() -> dict[str, Format]:
    """Every format by its name, in the order in which they are asked whether a file is theirs."""
    names = [f"{folder.__name__}.{each.name}" for each in iter_modules(folder.__path__)]
    modules = [import_module(name) for name in names]
    found = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {each.name: each for each in sorted(found, key=lambda each: (each.rank, each.name))}


@cache
def endings() -> tuple[str, ...]:
    """The endings of the names of corpus files, without that of a compressed one."""
    return tuple(ending for each in formats().values() for ending in each.endings)


def recognise(start: bytes) -> str | None:
    """Recognise a format by the first bytes of a file (some 64 KiB, decompressed).

    Returns the name of a format (text for lines, too: the difference does not show), or None for
    bytes that are of no format.
    """
    seen = Start(start)
    for each in formats().values():
        if each.recognises is not None and each.recognises(seen):
            return each.name
    return None
