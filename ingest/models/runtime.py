"""The environment of a model: device, memory, output of libraries, and errors."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from attnbank.sql.errors import AttnbankError, CallError, first_line

REASON = 300  # characters of a library's error that are quoted
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # as malloc.h numbers them
_LARGEST_KEPT = 8 * 2**20  # bytes; freed blocks larger than this would fragment the heap
_MOST_KEPT = 2**28  # bytes
_USUAL_THRESHOLD = 2**17  # bytes; glibc's default


class ModelError(AttnbankError):
    """The model cannot be loaded, or does not return attention weights."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device ran out of memory. For the CPU, torch raises a plain RuntimeError."""
    is_of_cpu = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return is_of_cpu or isinstance(error, torch.OutOfMemoryError | MemoryError)


@contextmanager
def enough_memory(name: str, device: torch.device) -> Iterator[None]:
    """Context manager that turns running out of memory into an error about the device."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        # Shorter inputs or smaller batches would not help: those of `load` are tiny.
        use_cpu = "" if device.type == "cpu" else "add --device cpu, "
        raise ModelError(
            f"The device {device} has too little free memory for the model {name}.",
            f"Free some memory, {use_cpu}or use a smaller model.",
        ) from error


@contextmanager
def tell_what_is_saved(saved: Callable[[], str], remedy: str) -> Iterator[None]:
    """Context manager for errors that say what is `saved`: of an interrupt, or without memory.

    `remedy` is for the latter, an AttnbankError.
    """
    try:
        yield
    except (KeyboardInterrupt, MemoryError, RuntimeError) as error:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(saved()) from error
        if not is_out_of_memory(error):
            raise
        fact = f"The device ran out of memory; {saved() or 'nothing is saved'}."
        raise AttnbankError(fact, remedy) from error


def device_of(name: str) -> torch.device:
    """Return the device; `auto` is cuda if available, else cpu. CallError if it does not work."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except Exception as error:  # every backend raises its own errors
        reason = first_line(error)[:REASON]
        raise CallError(
            f"Cannot use the device {name}: {reason}", "Use --device cpu, or leave out --device."
        ) from error
    return device


def memory_bytes() -> int:
    """Return the bytes of memory of this machine, or of this process's control group if fewer."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # no control group, or "max"
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return min(limit for limit in limits if limit > 0)


@contextmanager
def quiet() -> Iterator[None]:
    """Context manager that turns off the progress bars and the advice of transformers."""
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
    """Context manager in which the garbage collector ignores all objects that exist already.

    torch and transformers have a million, and visiting them took longer than tokenizing.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def malloc_tuned() -> Iterator[None]:
    """Context manager in which freed memory stays with the process, if the C library is glibc.

    Page faults of new memory for the attention of every batch take longer than merging it.
    """
    try:
        library = ctypes.CDLL("libc.so.6")
        mallopt, trim = library.mallopt, library.malloc_trim
    except (OSError, AttributeError):
        yield
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
    mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
    mallopt(_ARENA_MAX, 1)  # one heap, so that a thread can reuse what another one freed
    try:
        yield
    finally:
        mallopt(_MMAP_THRESHOLD, _USUAL_THRESHOLD)
        mallopt(_TRIM_THRESHOLD, _USUAL_THRESHOLD)
        trim(0)
