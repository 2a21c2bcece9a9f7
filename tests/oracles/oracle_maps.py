"""The maps of an input, read from a bank row by row."""

from __future__ import annotations

from typing import Any

import numpy as np


def maps_of(connection: Any, sequence: int, table: str = "attention") -> np.ndarray:
    """The maps [L, H, n, n] of an input, or for table gradient its gradients."""
    column = {"attention": "weights", "gradient": "gradients"}[table]
    rows = connection.execute(
        f"select layer, head, from_position, {column} from {table} where sequence = ?", [sequence]
    ).fetchall()
    layers, heads = (max(row[at] for row in rows) for at in (0, 1))
    n = len(rows[0][3])
    maps = np.full((layers, heads, n, n), np.nan)
    for layer, head, place, row in rows:
        maps[layer - 1, head - 1, place] = row
    assert not np.isnan(maps).any()
    return maps
