"""Random weights that one seed gives on every processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_IN_PLACE = {
    torch.ops.aten.normal_.default,
    torch.ops.aten.uniform_.default,
    torch.ops.aten.erfinv_.default,
}


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw what torch draws on the CPU in here from a seed; its own state is left as it was."""
    with torch.random.fork_rng(devices=[]), _Wide():  # type: ignore[no-untyped-call]
        torch.manual_seed(seed)
        yield


class _Wide(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Draws float32 numbers in float64 and rounds them.

    torch makes float32 normal and uniform numbers of its random bits with the instructions of the
    processor, and their last digits differ between those: on one with AVX2 a seed gives other
    weights than on one without, and the control of the paper's section 5 would be another model.
    In float64 the last digits differ too, but are rounded away.
    """

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in _IN_PLACE and args[0].dtype == torch.float32:
            wide = args[0].double()
            function(wide, *args[1:], **kwargs)
            return args[0].copy_(wide)
        return function(*args, **kwargs)
