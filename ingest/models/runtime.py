"""Where and how a model runs: its device, its memory, and how to silence its libraries."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from attnbank.sql.errors import CallError, first_line

_REASON = 300  # characters
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # as malloc.h numbers them
_LARGEST_KEPT = 8 * 2**20  # bytes; of larger ones the heap would keep holes that nothing fits
_MOST_KEPT = 2**28  # bytes
_USUAL_THRESHOLD = 2**17  # bytes; glibc's default


def device_of(name: str) -> torch.device:
    """The device with that name; `auto` is cuda if there is one, else cpu.

    Raises CallError if it cannot be used: a number must come back from it, which excludes the meta
    device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except Exception as error:  # each device raises errors of its own
        reason = first_line(error)[:_REASON]
        raise CallError(
            f"The device {name} cannot be used: {reason}", "Give cpu, or leave --device out."
        ) from error
    return device


def memory() -> int:
    """The bytes of memory of this machine, or of the control group that limits this process."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no control group, or "max"
            continue
    return min(each for each in found if each > 0)


@contextmanager
def quiet() -> Iterator[None]:
    """Within, transformers prints no progress bars and no advice."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def left_alone() -> Iterator[None]:
    """Within, Python's garbage collector ignores the objects that existed before.

    torch and transformers have a million objects, and a collection, which is due whenever some
    thousand pieces and words were made, took longer than making those.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def kept_memory() -> Iterator[None]:
    """Within, freed memory stays with the process, if the C library is glibc.

    Otherwise the attention of every batch would be written into fresh pages of memory, which takes
    longer than merging it. At the end the memory is given back.
    """
    try:
        library = ctypes.CDLL("libc.so.6")
        mallopt, trim = library.mallopt, library.malloc_trim
    except (OSError, AttributeError):
        yield
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
    mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
    mallopt(_ARENA_MAX, 1)  # one heap, in which what one thread frees serves another
    try:
        yield
    finally:
        mallopt(_MMAP_THRESHOLD, _USUAL_THRESHOLD)
        mallopt(_TRIM_THRESHOLD, _USUAL_THRESHOLD)
        trim(0)
