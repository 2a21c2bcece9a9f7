"""Fields of dataclasses that are also options of a command."""

from __future__ import annotations

from dataclasses import field
from typing import Any

# The largest whole number that an option takes by default: columns are INTEGER.
MOST = 2**31 - 1


def option(default: Any, help: str, group: str = "", **more: Any) -> Any:
    """Return a dataclass field that is also a command-line option, under the heading `group`.

    `more` may have `choices`; the inclusive bounds of a number, `least` and `most` (default: MOST),
    or the exclusive ones, `above` and `below`; `is_bytes` for a size; `is_seconds` for a time;
    `metavar`; `flag`, if it is not named like the field; and `short`, a short flag.
    """
    if "least" in more and "below" not in more:
        more.setdefault("most", MOST)
    return field(default=default, metadata={"help": help, "group": group, **more})
