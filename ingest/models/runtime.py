"""Where and how a model runs: its device, its memory, what its libraries print, and its errors."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from attnbank.sql.errors import AttnbankError, CallError, first_line

REASON = 300  # characters of what a library raised
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # as malloc.h numbers them
_LARGEST_KEPT = 8 * 2**20  # bytes; of larger ones the heap would keep holes that nothing fits
_MOST_KEPT = 2**28  # bytes
_USUAL_THRESHOLD = 2**17  # bytes; glibc's default


class ModelError(AttnbankError):
    """The model cannot be loaded, or does not return attention weights."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device ran out of memory. For the CPU's, torch has no exception of its own."""
    is_of_cpu = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return is_of_cpu or isinstance(error, torch.OutOfMemoryError | MemoryError)


@contextmanager
def enough_memory(name: str, device: torch.device) -> Iterator[None]:
    """Within, a lack of memory is an error about the device, not about the model `name`."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        # No option for shorter inputs or smaller batches helps: the trial's inputs are tiny.
        use_cpu = "" if device.type == "cpu" else "add --device cpu, "
        raise ModelError(
            f"The device {device} has too little free memory for the model {name}.",
            f"Free some memory, {use_cpu}or use a smaller model.",
        ) from error


def device_of(name: str) -> torch.device:
    """The device with that name, CallError if it does not work; `auto` is cuda if any, else cpu."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except Exception as error:  # each device raises errors of its own
        reason = first_line(error)[:REASON]
        raise CallError(
            f"Cannot use the device {name}: {reason}", "Use --device cpu, or leave out --device."
        ) from error
    return device


def memory() -> int:
    """The bytes of memory of this machine, or of the control group that limits this process."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # no control group, or "max"
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return min(limit for limit in limits if limit > 0)


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
def gc_frozen() -> Iterator[None]:
    """Within, Python's garbage collector ignores the objects that existed before.

    torch and transformers have a million, and looking at them took longer than making the pieces.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def malloc_tuned() -> Iterator[None]:
    """Within, freed memory stays with the process, if the C library is glibc.

    Writing the attention of every batch into fresh pages would take longer than merging it.
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
