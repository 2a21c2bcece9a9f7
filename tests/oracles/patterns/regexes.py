"""Values that regular expressions of requests cover, by Python's `re`."""

from __future__ import annotations

import re
from functools import cache

from attnbank.queries.patterns.syntax import Regex

_STR_TOKEN = re.compile(r"\\(.)|(\[\^?\]?[^\]]*\])|([*+?]+)|(.)", re.DOTALL)
_STR_OPERATORS = {"\\|": "|", "\\(": "(?:", "\\)": ")", "\\b": r"\b", "^": "(?m:^)", "$": "(?m:$)"}


@cache
def fits(regex: Regex, value: str) -> bool:
    """Whether the first match of an expression covers the whole value."""
    written = regex.text if regex.dialect == "pcre" else from_str(regex.text)
    flags = re.ASCII | (re.IGNORECASE if regex.ignores_case else 0)
    match = re.match(written, value, flags)
    return match is not None and match.end() == len(value)


def from_str(text: str) -> str:
    r"""An expression of OCaml's Str, where `\|` is the operator and not `|`, in Python's syntax."""
    written, begins = "", True
    for token in _STR_TOKEN.finditer(text):
        escaped, characters, repeats, plain = token.groups()
        if token[0] in _STR_OPERATORS:
            written += _STR_OPERATORS[token[0]]
        elif characters:
            negated = characters.startswith("[^")
            inside = characters[1 + negated : -1]
            written += "[^" if negated else "["
            written += "".join(sign if sign == "-" else re.escape(sign) for sign in inside) + "]"
        elif repeats:
            if begins:  # there is nothing to repeat
                written, repeats = written + re.escape(repeats[0]), repeats[1:]
            written += repeats[:1] if len(set(repeats)) < 2 else "*"  # x+? is (x+)?, that is x*
        else:
            written += "." if plain == "." else re.escape(escaped or plain)
        begins = token[0] in ("\\|", "\\(")
    return written
