"""Random weights that are the same for a seed on every processor."""

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
    """Within, torch draws from a seed on the CPU; afterwards its state is as it was before."""
    with torch.random.fork_rng(devices=[]), _Wide():  # type: ignore[no-untyped-call]
        torch.manual_seed(seed)
        yield


class _Wide(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Draws float32 numbers in float64 and rounds them.

    torch computes float32 normal and uniform numbers from its random bits with different
    instructions on different processors, and the last digits differ: a seed gives other weights
    with AVX2 than without, so the control of the paper's section 5 would be another model. In
    float64 the last digits differ too, but rounding removes them.
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
