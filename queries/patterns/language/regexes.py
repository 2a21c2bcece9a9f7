r"""Translating the regular expressions of requests to RE2, which DuckDB runs.

Two dialects are read: OCaml's Str (`re"..."`: `\|`, `\(` and `\)` are operators, and bare `|`,
`(`, `{4}` and `\d` are not) and PCRE (`/.../`). RE2 has no look-around and no back-references,
because it always answers in linear time; they are refused with their place.

A value fits if the first match that a backtracking engine finds at its start is the whole value.
RE2's leftmost-first match is the same match.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from attnbank.queries.patterns.language.faults import RequestError
from attnbank.queries.patterns.language.tree import Place, Regex

_DEEPEST = 60
"""How deep groups may be nested."""
_MOST = 10_000
"""The most characters that an expression may have if its repetitions are written out."""
_RE2_REPEATS = 1000
"""The largest number of repetitions that RE2 takes."""
_GROUPS = {"?=": "look-ahead", "?!": "look-ahead", "?<": "look-behind", "?>": "an atomic group"}
_SPECIAL = frozenset("\\.+*?()|[]{}^$")


@dataclass(frozen=True)
class Pattern:
    """A regular expression for RE2, and a simpler test if there is one.

    `literals` are the values that fit, if the expression is only a choice of texts. `affix` is
    (before, after, text) if what fits is a text with anything before it, after it, or both.
    """

    text: str
    literals: tuple[str, ...] | None = None
    affix: tuple[bool, bool, str] | None = None


@dataclass(frozen=True)
class _Item:
    """One item of a sequence: its text for RE2, and its meaning if that is simple.

    `literal` is the only character that fits, if there is one; `is_any` says that it is `.*`.
    """

    text: str
    literal: str | None = None
    is_any: bool = False


def translated(regex: Regex) -> Pattern:
    """The expression for RE2. Raises RequestError for what RE2 cannot run."""
    reader = _Str(regex) if regex.dialect == "str" else _Pcre(regex)
    branches = reader.alternatives(0)
    if reader.at < len(reader.source):
        raise reader.error("there is no group that ends here.")
    text = "|".join("".join(item.text for item in branch) for branch in branches)
    if regex.ignores_case:
        return Pattern(f"(?i)^(?:{text})")
    return Pattern(f"^(?:{text})", _literals(branches), _affix(branches))


def _literals(branches: list[list[_Item]]) -> tuple[str, ...] | None:
    found: list[str] = []
    for branch in branches:
        if any(item.literal is None for item in branch):
            return None
        word = "".join(item.literal or "" for item in branch)
        # If an earlier branch is a prefix of this one, it matches first, and not the whole value.
        if not any(word.startswith(each) for each in found):
            found.append(word)
    return tuple(each for each in found if each)


def _affix(branches: list[list[_Item]]) -> tuple[bool, bool, str] | None:
    if len(branches) != 1 or not branches[0]:
        return None
    items = branches[0]
    before, after = items[0].is_any, items[-1].is_any
    inner = items[before : len(items) - (after and len(items) > before)]
    if any(item.literal is None for item in inner):
        return None
    return before, after, "".join(item.literal or "" for item in inner)


class _Reader(ABC):
    """Reads one expression from left to right; `at` is the index of the next character.

    The dialects differ in what their subclass overrides: where a group closes, what separates
    alternatives, what an atom is, and what repeats it.
    """

    def __init__(self, regex: Regex) -> None:
        self.source = regex.text
        self.at = 0
        self._regex = regex
        self._size = 0

    def error(self, fact: str, at: int | None = None) -> RequestError:
        """The error for a fault at a character of the expression, by default the next one."""
        index = self.at if at is None else at
        columns = self._regex.columns
        offset = columns[index] if index < len(columns) else columns[-1] + 1
        place = Place(self._regex.place.line, self._regex.place.column + offset)
        return RequestError(place, f"in the regular expression, {fact}")

    def refuse(self, what: str, at: int) -> RequestError:
        """The error for something that RE2 does not have."""
        return self.error(f"{what} cannot be run (RE2 has none, to stay fast).", at)

    def alternatives(self, depth: int) -> list[list[_Item]]:
        """The alternatives from here to the end of the group; raises RequestError as `error`."""
        if depth > _DEEPEST:
            raise self.error(f"groups are nested more than {_DEEPEST} deep.")
        branches: list[list[_Item]] = [[]]
        while self.at < len(self.source) and not self.closes():
            if self.skips_bar():
                branches.append([])
                continue
            start = self._size
            item = self.repeated(self.atom(depth), start)
            branches[-1].append(item)
        return branches

    def group(self, depth: int) -> str:
        """Read the alternatives of a group and its end; the group as RE2 writes it."""
        start = self.at
        branches = self.alternatives(depth + 1)
        if self.at >= len(self.source):
            raise self.error("a group does not end.", start - 1)
        self.skip_close()
        text = "|".join("".join(item.text for item in branch) for branch in branches)
        return f"(?:{text})"

    def repeated(self, item: _Item, start: int) -> _Item:
        """The item with the repetitions that follow it; `start` is the size before the item."""
        while self.at < len(self.source):
            found = self.repetition()
            if found is None:
                break
            least, most = found
            lazy = self.lazy()
            times = max(least, most or 0, 1)
            if times > _RE2_REPEATS:
                raise self.error(f"something is repeated more than {_RE2_REPEATS} times.")
            self.grow((self._size - start) * (times - 1))
            sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
            if sign is None:
                sign = f"{{{least}}}" if least == most else f"{{{least},{most or ''}}}"
            is_any = item.text == "." and sign == "*" and not lazy
            simple = re.fullmatch(r"\\?.|\[.*\]|\(\?:.*\)", item.text, re.DOTALL)
            text = item.text if simple and item.literal != "" else f"(?:{item.text})"
            item = _Item(f"{text}{sign}{'?' if lazy else ''}", None, is_any)
            if self.at < len(self.source) and self.source[self.at] in "*+?":
                item = _Item(f"(?:{item.text})")
        return item

    def grow(self, size: int) -> None:
        """Add to the size of the expression; raises RequestError if it gets too large."""
        self._size += size
        if self._size > _MOST:
            raise self.error(f"its repetitions stand for more than {_MOST:,} characters.")

    def character(self, char: str) -> _Item:
        """One character that stands for itself."""
        self.grow(1)
        return _Item(f"\\{char}" if char in _SPECIAL else char, char)

    def sign(self, text: str) -> _Item:
        """An operator or a class, in RE2's syntax."""
        self.grow(1)
        return _Item(text)

    @abstractmethod
    def closes(self) -> bool:
        """Whether the end of a group stands here."""

    @abstractmethod
    def skip_close(self) -> None:
        """Go past the end of a group."""

    @abstractmethod
    def skips_bar(self) -> bool:
        """Go past the sign between alternatives, where one stands here; whether it did."""

    @abstractmethod
    def atom(self, depth: int) -> _Item:
        """Read a character, a class or a group that is `depth` groups deep."""

    def repetition(self) -> tuple[int, int | None] | None:
        """Read a repetition as (least, most), where None is no limit; None if there is none."""
        found = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self.source[self.at])
        if found is not None:
            self.at += 1
        return found

    def lazy(self) -> bool:
        return False

    def char_class(self, escapes: bool) -> str:
        """Read a class in brackets, after its `[`; the class as RE2 writes it."""
        start, parts = self.at - 1, []
        if self.source[self.at : self.at + 1] == "^":
            parts.append("^")
            self.at += 1
        first = self.at
        while True:
            char = self.source[self.at : self.at + 1]
            if not char:
                raise self.error("a class in brackets does not end.", start)
            if char == "]" and self.at > first:
                self.at += 1
                return f"[{''.join(parts)}]"
            parts.append(self.class_part(escapes))

    def class_part(self, escapes: bool) -> str:
        """Read one character, range or named class in brackets; as RE2 writes it."""
        named = re.compile(r"\[:\^?[a-z]+:\]").match(self.source, self.at)
        if named and escapes:
            self.at = named.end()
            return named[0]
        low, is_one = self.class_character(escapes)
        follows = self.source[self.at : self.at + 2]
        if not (is_one and follows[:1] == "-" and follows[1:] not in ("", "]")):
            return low
        self.at += 1
        at = self.at
        high, is_one = self.class_character(escapes)
        if not is_one or high[-1] < low[-1]:
            raise self.error("a range in brackets ends before it begins.", at)
        return f"{low}-{high}"

    def class_character(self, escapes: bool) -> tuple[str, bool]:
        r"""Read one character in brackets: as RE2 writes it, and if it is one (`\d` is not)."""
        char = self.source[self.at]
        self.at += 1
        if char == "\\" and escapes:
            char = self.source[self.at : self.at + 1]
            self.at += 1
            if char and char in "dwsDWS":
                return f"\\{char}", False
            plain = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}.get(char, char)
            if not plain or (plain == char and char.isalnum()):
                raise self.error(f"\\{char} is unknown in brackets.", self.at - 2)
            char = plain
        return (f"\\{char}" if char in "\\]^-[&~" else char), True


class _Str(_Reader):
    """The dialect of OCaml's Str."""

    def closes(self) -> bool:
        return self.source.startswith("\\)", self.at)

    def skip_close(self) -> None:
        self.at += 2

    def skips_bar(self) -> bool:
        found = self.source.startswith("\\|", self.at)
        self.at += 2 * found
        return found

    def atom(self, depth: int) -> _Item:
        char = self.source[self.at]
        self.at += 1
        if char in ".^$":
            return self.sign(char)
        if char == "[":
            return self.sign(self.char_class(escapes=False))
        if char != "\\":
            return self.character(char)
        escaped = self.source[self.at : self.at + 1]
        self.at += 1
        if escaped == "(":
            return _Item(self.group(depth))
        if escaped == "b":
            return self.sign("\\b")
        if escaped.isdigit() and escaped != "0":
            raise self.refuse(f"the back-reference \\{escaped}", self.at - 2)
        return self.character(escaped or "\\")


class _Pcre(_Reader):
    """The dialect of PCRE, as far as RE2 has it too."""

    def closes(self) -> bool:
        return self.source[self.at] == ")"

    def skip_close(self) -> None:
        self.at += 1

    def skips_bar(self) -> bool:
        found = self.source[self.at] == "|"
        self.at += found
        return found

    def repetition(self) -> tuple[int, int | None] | None:
        counted = re.compile(r"\{(\d+)(,?)(\d*)\}").match(self.source, self.at)
        if not counted:
            return super().repetition()
        least = int(counted[1][:6])
        most = int(counted[3][:6]) if counted[3] else None if counted[2] else least
        if most is not None and most < least:
            raise self.error("a repetition ends before it begins.")
        self.at = counted.end()
        return least, most

    def lazy(self) -> bool:
        follows = self.source[self.at : self.at + 1]
        if follows == "+":
            raise self.refuse("a possessive repetition", self.at)
        self.at += follows == "?"
        return follows == "?"

    def atom(self, depth: int) -> _Item:
        char = self.source[self.at]
        self.at += 1
        if char in ".^$":
            return self.sign(char)
        if char == "[":
            return self.sign(self.char_class(escapes=True))
        if char == "(":
            return _Item(self._group(depth))
        if char in "*+?":
            raise self.error(f"nothing stands before {char}.", self.at - 1)
        return self._escaped() if char == "\\" else self.character(char)

    def _group(self, depth: int) -> str:
        start = self.at - 1
        if self.source[self.at : self.at + 1] != "?":
            return self.group(depth)
        named = re.compile(r"\?(:|P?<[A-Za-z_]\w*>)").match(self.source, self.at)
        if named:
            self.at = named.end()
            return self.group(depth)
        what = _GROUPS.get(self.source[self.at : self.at + 2], "this kind of group")
        raise self.refuse(what, start)

    def _escaped(self) -> _Item:
        """Read an escape, after its backslash."""
        at = self.at - 1
        char = self.source[self.at : self.at + 1]
        self.at += 1
        plain = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}.get(char)
        if plain:
            return self.character(plain)
        if char and char in "dwsDWSbB":
            return self.sign(f"\\{char}")
        if char in ("A", "z", "Z"):
            return self.sign("^" if char == "A" else "$")
        category = re.compile(r"\{\^?[A-Za-z_]+\}|[LMNPSZC]").match(self.source, self.at)
        if char in ("p", "P") and category:
            self.at = category.end()
            return self.sign(f"\\{char}{category[0]}")
        if char.isdigit() or char in ("k", "g"):
            raise self.refuse(f"the back-reference \\{char}", at)
        if not char or char.isalpha():
            raise self.error(f"\\{char} is not supported.", at)
        return self.character(char)
