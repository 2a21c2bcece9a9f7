"""Relations: the directions in which a head can find one, and the parts of their names."""

from __future__ import annotations

import re

# As the macro directions() of banks lists them. A bidirectional model has the first two, a causal
# one all.
DIRECTIONS = ("dependent_to_head", "head_to_dependent", "later_to_earlier")
TO_HEAD, TO_DEPENDENT, TO_EARLIER = DIRECTIONS

# What extracts each part of a relation, in any dialect of regular expressions.
#
# The parts are `1:2$subsem@deep`, as Grew calls them; UD has the first two, SUD all.
PARTS = {
    "1": r"^([^:$@]*)",
    "2": r"^[^:$@]*:([^$@]*)",
    "subsem": r"^[^$@]*[$]([^@]*)",
    "deep": r"^[^@]*@(.*)$",
}


def without_subtype(relation: str) -> str:
    """The relation without its subtype, as the SQL macro of this name gives it."""
    return relation_part(relation, "1")


def relation_part(relation: str, name: str) -> str:
    """A part of a relation, empty where it is not there."""
    match = re.match(PARTS[name], relation)
    return match[1] if match else ""
