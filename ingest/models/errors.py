"""The error for every fault of a model."""

from __future__ import annotations

from attnbank.sql.errors import AttnbankError


class ModelError(AttnbankError):
    """The model cannot be loaded, or does not return attention weights."""
