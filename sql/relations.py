"""The parts of a relation: `comp:aux@lvc` of SUD has the subtype aux and the deep feature lvc."""

from __future__ import annotations

import re

_PARTS = re.compile(r"([^:@]*)(?::([^@]*))?(?:@(.*))?", re.DOTALL)


def without_subtype(relation: str) -> str:
    """The relation before its subtype, as the macro of banks that is called so has it."""
    return parts(relation)[0]


def parts(relation: str) -> tuple[str, str, str]:
    """What Grew calls 1, 2 and deep; those that are not there are empty."""
    match = _PARTS.match(relation)
    assert match is not None  # every part may be empty
    return match[1], match[2] or "", match[3] or ""
