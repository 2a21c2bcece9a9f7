"""Makes damaged banks: bits flipped, pages lost, ends cut off."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

HEADERS = 3 * 4096
BLOCK = 65_536
KINDS = ("bit", "byte", "page", "swap", "cut", "header")


def damaged(content: bytes, count: int, *, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """`count` damaged copies of a bank, each with what was done to it; the same for a seed."""
    rng = random.Random(seed)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        yield _damage(content, kind, rng)


def sealed(content: bytes, count: int, *, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """`count` copies with one bit changed and the checksum of the block corrected.

    DuckDB cannot notice this by the checksum; it is what an attacker would do.
    """
    rng = random.Random(seed)
    for _ in range(count):
        made = bytearray(content)
        block = rng.randrange((len(content) - HEADERS) // BLOCK)
        start = HEADERS + block * BLOCK
        at = start + 8 + rng.randrange(min(BLOCK - 8, 4000 if rng.random() < 0.7 else BLOCK))
        made[min(at, start + BLOCK - 1)] ^= 1 << rng.randrange(8)
        made[start : start + 8] = checksum(bytes(made[start + 8 : start + BLOCK])).to_bytes(
            8, "little"
        )
        yield f"sealed byte {at}", bytes(made)


def checksum(block: bytes) -> int:
    """The checksum that DuckDB writes before a block (duckdb `src/common/checksum.cpp`).

    The length of the block must be a multiple of 8 bytes.
    """
    words = np.frombuffer(block, dtype="<u8")
    with np.errstate(over="ignore"):
        mixed = np.bitwise_xor.reduce(words * np.uint64(0xBF58476D1CE4E5B9))
    return int(mixed) ^ 5381


def _damage(content: bytes, kind: str, rng: random.Random) -> tuple[str, bytes]:
    made = bytearray(content)
    at = rng.randrange(HEADERS, len(made))
    if kind == "bit":
        made[at] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        made[at] = rng.randrange(256)
    elif kind == "page":
        at -= at % 4096
        made[at : at + 4096] = bytes(min(4096, len(made) - at))
    elif kind == "swap":
        other = HEADERS + rng.randrange((len(made) - HEADERS) // BLOCK) * BLOCK
        at = HEADERS + (at - HEADERS) // BLOCK * BLOCK
        made[at : at + BLOCK], made[other : other + BLOCK] = (
            made[other : other + BLOCK],
            made[at : at + BLOCK],
        )
    elif kind == "cut":
        del made[at if rng.random() < 0.7 else rng.randrange(HEADERS) :]
    else:
        at = rng.randrange(HEADERS)
        made[at] ^= 1 << rng.randrange(8)
    return f"{kind} {at}", bytes(made)
