"""How values are written: numbers, and regular expressions of two dialects, put into Python's."""

from __future__ import annotations

import re
from dataclasses import dataclass


class RequestError(ValueError):
    """The request is not one of the language, or asks for what is not there."""


@dataclass(frozen=True)
class Regex:
    """A regular expression in Python's syntax; its first match must cover the whole value."""

    text: str
    ignore_case: bool = False

    def fits(self, value: str) -> bool:
        flags = re.ASCII | (re.IGNORECASE if self.ignore_case else 0)
        found = re.match(self.text, value, flags)
        return found is not None and found.end() == len(value)


def from_str(text: str) -> str:
    r"""An expression of OCaml's Str, where `\|` is the operator and not `|`, in Python's syntax."""
    found, at = _alternatives(text, 0)
    if at < len(text):
        raise RequestError(f"the regular expression {text!r} closes what it does not open")
    return found


def _alternatives(text: str, at: int) -> tuple[str, int]:
    found = ""
    while at < len(text):
        pair = text[at : at + 2]
        if pair == "\\)":
            return found, at
        if pair == "\\|":
            found, at = found + "|", at + 2
            continue
        atom, at = _atom(text, at)
        while at < len(text) and text[at] in "*+?":
            atom, at = f"(?:{atom}{text[at]})", at + 1
        found += atom
    return found, at


def _atom(text: str, at: int) -> tuple[str, int]:
    sign = text[at]
    if sign == "[":
        return _set(text, at + 1)
    if sign in "^$":
        return f"(?m:{sign})", at + 1
    if sign == ".":
        return ".", at + 1
    if sign != "\\":
        return re.escape(sign), at + 1
    after = text[at + 1 : at + 2]
    if after == "(":
        found, end = _alternatives(text, at + 2)
        if text[end : end + 2] != "\\)":
            raise RequestError(f"the regular expression {text!r} is not closed")
        return f"(?:{found})", end + 2
    if after == "b":
        return r"\b", at + 2
    if after == "" or (after.isdigit() and after != "0"):
        raise RequestError(f"the regular expression {text!r} refers back, or ends too early")
    return re.escape(after), at + 2


def _set(text: str, at: int) -> tuple[str, int]:
    negated = text[at : at + 1] == "^"
    at += negated
    end = text.find("]", at + 1)
    if end < 0:
        raise RequestError(f"the set of the regular expression {text!r} is not closed")
    inside = "".join(sign if sign == "-" else re.escape(sign) for sign in text[at:end])
    return f"[{'^' if negated else ''}{inside}]", end + 1


def from_pcre(text: str) -> str:
    if re.search(r"\(\?(?![:i])|\\[1-9gkK]|[*+?}]\+", text):
        raise RequestError(f"the regular expression {text!r} looks around or refers back")
    try:
        re.compile(text, re.ASCII)
    except re.error as fault:
        raise RequestError(f"the regular expression {text!r} is wrong: {fault}") from fault
    return text


def plain(number: float) -> str:
    """A number in the form that values have: 007 is 7."""
    return str(int(number)) if number == int(number) else str(number)
