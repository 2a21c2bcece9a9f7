"""Where a model runs: the device, the memory there is, and the quiet of its libraries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from attnbank.sql.errors import CallError, first_line

_REASON = 300  # characters


def device_of(name: str) -> torch.device:
    """The device that is called so; `auto` is the fastest. Raises CallError where it is of no use.

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
