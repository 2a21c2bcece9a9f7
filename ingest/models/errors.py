"""The error that every fault of a model is told by."""

from __future__ import annotations

from attnbank.sql.errors import AttnbankError


class ModelError(AttnbankError):
    """The model cannot be loaded, or does not give attention weights."""
