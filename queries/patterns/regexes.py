r"""Translate the regular expressions of requests to RE2, which DuckDB runs.

There are two dialects: OCaml's Str (`re"..."`: `\|`, `\(` and `\)` are operators, and bare `|`,
`(`, `{4}` and `\d` are not) and PCRE (`/.../`). RE2 has no look-around and no back-references,
because it always answers in linear time; they raise an error with their position.

A value matches if the first match that a backtracking engine finds at its start is the whole value.
RE2's leftmost-first match is the same match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from attnbank.queries.patterns.syntax import Regex, RequestError, SourcePosition

# Nested groups; the parser is recursive.
_MAX_DEPTH = 60

# Size of an expression with its repetitions written out, as RE2 compiles it.
_MAX_LENGTH = 10_000

# The largest repetition count that RE2 accepts.
_MAX_REPEATS = 1000

_UNSUPPORTED_GROUPS = {
    "?=": "look-ahead",
    "?!": "look-ahead",
    "?<": "look-behind",
    "?>": "an atomic group",
}
_SPECIAL = frozenset("\\.+*?()|[]{}^$")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


@dataclass(frozen=True)
class Re2Pattern:
    """A regular expression for RE2, and an equivalent simpler test if there is one.

    `literals` are the only values that match; `affix` (before, after, text) means that a text with
    anything before it, after it, or both matches.
    """

    text: str
    literals: tuple[str, ...] | None = None
    affix: tuple[bool, bool, str] | None = None

    def matches(self, value: str) -> bool | None:
        """Whether a value matches; None if unclear."""
        if self.literals is not None:
            return value in self.literals
        if self.affix is None:
            return None
        before, after, inner = self.affix
        if before and after:
            return inner in value
        return value.endswith(inner) if before else value.startswith(inner)


class _Item(NamedTuple):
    """One item of a sequence, for RE2; `literal` is the only character that matches, if any."""

    text: str
    literal: str | None = None
    is_any: bool = False  # .*


def translate_regex(regex: Regex) -> Re2Pattern:
    """Translate an expression to RE2. Raises RequestError for what RE2 does not support."""
    reader = _RegexParser(regex)
    branches = reader.alternatives(0)
    if reader.at < len(reader.source):
        raise reader.error("no group is open here.")
    if regex.ignores_case:
        return Re2Pattern(f"(?i)^{_group(branches)}")
    return Re2Pattern(f"^{_group(branches)}", _literal_alternatives(branches), _affix(branches))


def _group(branches: list[list[_Item]]) -> str:
    return f"(?:{'|'.join(''.join(item.text for item in branch) for branch in branches)})"


def _only_match(items: list[_Item]) -> str | None:
    """The only text that a sequence matches; None if it may match others."""
    texts = [item.literal for item in items if item.literal is not None]
    return "".join(texts) if len(texts) == len(items) else None


def _literal_alternatives(branches: list[list[_Item]]) -> tuple[str, ...] | None:
    literals: list[str] = []
    for word in map(_only_match, branches):
        if word is None:
            return None
        # If an earlier branch is a prefix of this one, that branch matches first, but not the whole
        # value.
        if not any(word.startswith(earlier) for earlier in literals):
            literals.append(word)
    return tuple(literal for literal in literals if literal)


def _affix(branches: list[list[_Item]]) -> tuple[bool, bool, str] | None:
    if len(branches) != 1 or not branches[0]:
        return None
    items = branches[0]
    before, after = items[0].is_any, items[-1].is_any
    inner = _only_match(items[before : len(items) - (after and len(items) > before)])
    return None if inner is None else (before, after, inner)


class _RegexParser:
    """Parses one expression from left to right; `at` is the index of the next character.

    In Str the operators `(`, `)` and `|` have a backslash, in PCRE none; only PCRE has counted,
    lazy and possessive repetitions, and further escapes.
    """

    def __init__(self, regex: Regex) -> None:
        self.source = regex.text
        self.at = 0
        self._is_str = regex.dialect == "str"
        self._escape = r"\\" if self._is_str else ""
        self._regex = regex
        self._size = 0

    def error(self, fact: str, at: int | None = None) -> RequestError:
        """A RequestError at the character with an index, by default the next one."""
        index = self.at if at is None else at
        columns = self._regex.columns
        offset = columns[index] if index < len(columns) else columns[-1] + 1
        position = SourcePosition(self._regex.position.line, self._regex.position.column + offset)
        return RequestError(position, f"in the regular expression, {fact}")

    def _refuse(self, what: str, at: int) -> RequestError:
        return self.error(f"{what} is not supported (RE2 omits it to stay fast).", at)

    def _take(self, pattern: str) -> re.Match[str] | None:
        match = re.compile(pattern, re.DOTALL).match(self.source, self.at)
        self.at = match.end() if match else self.at
        return match

    def _add_size(self, size: int) -> None:
        self._size += size
        if self._size > _MAX_LENGTH:
            raise self.error(f"its repetitions add up to more than {_MAX_LENGTH:,} characters.")

    def _operator(self, text: str, literal: str | None = None) -> _Item:
        self._add_size(1)
        return _Item(text, literal)

    def _character(self, char: str) -> _Item:
        return self._operator(f"\\{char}" if char in _SPECIAL else char, char)

    def alternatives(self, depth: int) -> list[list[_Item]]:
        """Parse the alternatives up to the end of the group."""
        if depth > _MAX_DEPTH:
            raise self.error(f"groups are nested more than {_MAX_DEPTH} deep.")
        branches: list[list[_Item]] = [[]]
        while self.at < len(self.source) and not self._take(rf"(?={self._escape}\))"):
            if self._take(rf"{self._escape}\|"):
                branches.append([])
            else:
                size = self._size
                branches[-1].append(self._repeated(self._atom(depth), size))
        return branches

    def _repeated(self, item: _Item, size: int) -> _Item:
        """Parse the repetitions after an item; `size` is the expression's size before the item."""
        counted = "" if self._is_str else r"|\{(\d+)(,?)(\d*)\}"
        while repetition := self._take(r"[*+?]" + counted):
            sign, count = repetition[0], 1
            if sign[0] == "{":
                least = int(repetition[1][:6])
                most = int(repetition[3][:6]) if repetition[3] else None if repetition[2] else least
                if most is not None and most < least:
                    raise self.error("a repetition ends before it begins.", repetition.start())
                count = max(least, most or 0, 1)
                sign = f"{{{least}}}" if least == most else f"{{{least},{most or ''}}}"
            if not self._is_str and self._take(r"(?=\+)"):
                raise self._refuse("a possessive repetition", self.at)
            lazy = "" if self._is_str else self._take(r"\??")[0]  # type: ignore[index]
            if count > _MAX_REPEATS:
                raise self.error(f"something is repeated more than {_MAX_REPEATS} times.")
            self._add_size((self._size - size) * (count - 1))
            # A longer item must be a group, so that all of it is repeated.
            is_simple = re.fullmatch(r"\\?.|\[.*\]|\(\?:.*\)", item.text, re.DOTALL)
            text = item.text if is_simple else f"(?:{item.text})"
            item = _Item(f"{text}{sign}{lazy}", is_any=item.text + sign + lazy == ".*")
            if self._take(r"(?=[*+?])"):  # RE2 rejects a**
                item = _Item(f"(?:{item.text})")
        return item

    def _atom(self, depth: int) -> _Item:
        """Parse a character, a class, or a group that is nested in `depth` groups."""
        start = self.at
        if self._take(rf"{self._escape}\("):
            if not self._is_str and not self._take(r"(?!\?)|\?(:|P?<[A-Za-z_]\w*>)"):
                what = _UNSUPPORTED_GROUPS.get(
                    self.source[self.at : self.at + 2], "this kind of group"
                )
                raise self._refuse(what, start)
            start = self.at
            branches = self.alternatives(depth + 1)
            if not self._take(rf"{self._escape}\)"):
                raise self.error("a group is not closed.", start - 1)
            return _Item(_group(branches))
        char = self.source[self.at]
        self.at += 1
        if char in ".^$":
            return self._operator(char)
        if char == "[":
            return self._operator(self._char_class())
        if char == "\\":
            return self._escaped()
        if char in "*+?" and not self._is_str:
            raise self.error(f"there is nothing before {char} to repeat.", start)
        return self._character(char)

    def _escaped(self) -> _Item:
        start = self.at - 1
        if not self._is_str and (category := self._take(r"[pP](\{\^?[A-Za-z_]+\}|[LMNPSZC])")):
            return self._operator(f"\\{category[0]}")
        char = self.source[self.at : self.at + 1]
        self.at += 1
        if char and char in ("b" if self._is_str else "dwsDWSbB"):
            return self._operator(f"\\{char}")
        is_number = char.isdigit() and not (self._is_str and char == "0")
        if is_number or (char in ("k", "g") and not self._is_str):
            raise self._refuse(f"the back-reference \\{char}", start)
        if self._is_str:
            return self._character(char or "\\")
        if char in ("A", "z", "Z"):
            return self._operator("^" if char == "A" else "$")
        if char not in _ESCAPES and (not char or char.isalpha()):
            raise self.error(f"\\{char} is not supported.", start)
        return self._character(_ESCAPES.get(char, char))

    def _char_class(self) -> str:
        """Parse a class in brackets, after its `[`, to RE2."""
        start = self.at - 1
        parts = ["^" if self._take(r"\^") else ""]
        first = self.at
        while self.at == first or not self._take(r"\]"):
            if self.at >= len(self.source):
                raise self.error("a class in brackets is not closed.", start)
            if not self._is_str and (named_class := self._take(r"\[:\^?[a-z]+:\]")):
                parts.append(named_class[0])
                continue
            low, is_one = self._class_character()
            if is_one and self._take(r"-(?=[^\]])"):
                at = self.at
                high, is_one = self._class_character()
                if not is_one or high[-1] < low[-1]:
                    raise self.error("a range in brackets ends before it begins.", at)
                low = f"{low}-{high}"
            parts.append(low)
        return f"[{''.join(parts)}]"

    def _class_character(self) -> tuple[str, bool]:
        r"""Parse one item in brackets to RE2; True if it is a single character (`\d` is not)."""
        char = self.source[self.at]
        self.at += 1
        if char == "\\" and not self._is_str:
            char = self.source[self.at : self.at + 1]
            self.at += 1
            if char and char in "dwsDWS":
                return f"\\{char}", False
            if not char or (char.isalnum() and char not in _ESCAPES):
                raise self.error(f"\\{char} is unknown in brackets.", self.at - 2)
            char = _ESCAPES.get(char, char)
        return (f"\\{char}" if char in "\\]^-[&~" else char), True
