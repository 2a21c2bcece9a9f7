"""Fields of dataclasses that are also options of a command."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import Field, field, fields
from typing import TYPE_CHECKING, Any

from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_LONGEST = 1000  # characters of a text; most systems do not allow longer paths
# The largest whole number that an option takes by default: columns are INTEGER.
MOST = 2**31 - 1


def option(default: Any, help: str, group: str = "", **more: Any) -> Any:
    """Return a dataclass field that is also a command-line option, under the heading `group`.

    `more` may have `choices`; the inclusive bounds of a number, `least` and `most` (default: MOST),
    or the exclusive ones, `above` and `below`; `is_bytes` for a size; `is_seconds` for a time;
    `metavar`; `flag`, if it is not named like the field; `short`, a short flag; and `in_name`, how
    the name of a run says it.
    """
    if "least" in more and "below" not in more:
        more.setdefault("most", MOST)
    return field(default=default, metadata={"help": help, "group": group, **more})


def flag_of(own: Field[Any]) -> str:
    """Return the flag of a field, as users type it."""
    return f"--{own.metadata.get('flag', own.name).replace('_', '-')}"


def check_values(options: DataclassInstance) -> None:
    """Raise CallError for a value that breaks the rules of its `option`, and for invalid text."""
    for own in fields(options):
        flag, rules, value = flag_of(own), own.metadata, getattr(options, own.name)
        if value is None:
            continue
        if "choices" in rules and value not in rules["choices"]:
            valid = " or ".join(rules["choices"])
            raise CallError(f"{value!r} is not a valid value of {flag}.", f"Use {valid}.")
        bounds = [bound for bound in _BOUNDS if bound[0] in rules]
        if not all(holds(value, rules[name]) for name, holds, _ in bounds):
            valid = " ".join(f"{word} {rules[name]:,}" for name, _, word in bounds)
            raise CallError(f"{flag} is out of range.", f"Use a number {valid}.")
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise CallError(f"{flag} is not valid UTF-8.", "Write it in UTF-8.") from None
            if "\0" in value:
                raise CallError(f"{flag} contains a null character.", "Leave it out.")
            if len(value) > _LONGEST:
                raise CallError(f"{flag} has {len(value):,} characters.", "Give a shorter one.")


_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("least", operator.ge, "from"),
    ("above", lambda value, bound: bound < value < math.inf, "above"),
    ("most", operator.le, "to"),
    ("below", operator.lt, "to below"),
)
