"""Where a model runs: the device, the memory there is, and the quiet of its libraries."""

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
_LARGEST_KEPT = 32 * 2**20  # bytes; the most that glibc takes
_MOST_KEPT = 2**28
_USUAL_THRESHOLD = 2**17


def device_of(name: str) -> torch.device:
    """The device of that name; `auto` is the fastest. Raises CallError where it cannot be used.

    A number has to come back from it: the meta device takes every number, and gives none.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except Exception as error:  # of torch: each device has its own
        reason = first_line(error)[:_REASON]
        raise CallError(
            f"The device {name} cannot be used: {reason}", "Give cpu, or leave --device out."
        ) from error
    return device


def memory() -> int:
    """The bytes of memory of this machine, or of the part of it that this process may have."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no control group, or "max"
            continue
    return min(each for each in found if each > 0)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' own progress bars and advice off the user's screen."""
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
    """Within, Python's garbage collector passes over what was there before.

    torch and transformers leave a million objects, and going through all of them whenever some
    thousand pieces and words were made took longer than making these.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def kept_memory() -> Iterator[None]:
    """Within, memory that is freed stays with the process, where the C library is glibc.

    Otherwise every batch's attention would be written into fresh pages, which takes longer than
    merging it. What is kept goes back at the end.
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
