"""How long a statement may be given: a number that costs no import."""

LONGEST = 10.0**8
"""The most seconds that can be asked for: three years."""
