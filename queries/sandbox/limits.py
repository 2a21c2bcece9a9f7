"""The longest time limit of a statement, in a file that needs no slow import."""

LONGEST = 10.0**8
"""The most seconds that can be asked for: about three years."""
