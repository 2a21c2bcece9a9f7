"""Compile tests of values: features, labels, metadata, and regular expressions (the second half).

Text of the user enters a statement only as a literal or a quoted name (sql/names). A condition is
a text that can be an operand of `and`. A plain comparison is used wherever it can replace a regular
expression, since it is faster. A missing value (null) passes no test for a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from attnbank.queries.patterns import syntax
from attnbank.queries.patterns.resolver import SHAPES, ResolvedRequest
from attnbank.queries.patterns.syntax import SURPRISAL, Regex, RequestError, SourcePosition
from attnbank.sql.names import PARTS, literal, without_subtype

# Features that are columns of table `word`.
COLUMNS = frozenset({"form", "lemma", "upos", "xpos"})

# Features of the mentions that a word is the head of, and their columns in table `mention`.
MENTIONS = {"mention": "kind", "entity_type": "type"}

# The form of the node before the first word.
ANCHOR = "__0__"

_PART_MARKS = {"2": ":", "subsem": "$", "deep": "@"}

# Up to this many values of a label's first part are compared; for more, the part is extracted.
_MAX_COMPARED = 2

# The alias of table `sentence`, because `word` has a column that is called `sentence`.
SENTENCE = "this_sentence"

# Keys of metadata that are columns of table `sentence`, and the names of these columns.
SENTENCE_COLUMNS = {"sent_id": "name", "text": "text"}


def all_of(conditions: Iterable[str]) -> str:
    """The conjunction of conditions; true if there are none."""
    return " and ".join(conditions) or "true"


def any_of(conditions: Iterable[str]) -> str:
    """The disjunction of conditions, in brackets; false if there are none."""
    conditions = list(conditions)
    if len(conditions) > 1:
        return f"({' or '.join(conditions)})"
    return "".join(conditions) or "false"


def value_test(test: syntax.Test, value: str) -> str:
    """Compile a test of a value, an SQL expression that is null if the value is missing."""
    if test.kind in ("present", "absent"):
        return f"{value} is {'not ' * (test.kind == 'present')}null"
    texts: list[str] = []
    conditions: list[str] = []
    for operand in test.values:
        if isinstance(operand, str):
            texts.append(operand)
            continue
        pattern = translate_regex(operand)
        if pattern.literals is not None:
            texts.extend(pattern.literals)
        elif pattern.affix is not None:
            conditions.append(_with_affix(value, *pattern.affix))
        else:
            conditions.append(f"regexp_extract({value}, {literal(pattern.text)}, 0) = {value}")
    wanted = [literal(text) for text in dict.fromkeys(texts)]
    is_different = test.kind == "different"
    if len(wanted) == 1 and not conditions:
        return f"{value} {'<>' if is_different else '='} {wanted[0]}"
    if len(wanted) == 1:
        conditions.insert(0, f"{value} = {wanted[0]}")
    elif wanted:
        conditions.insert(0, f"{value} in ({', '.join(wanted)})")
    return f"not ({any_of(conditions)})" if is_different else any_of(conditions)


def _with_affix(value: str, before: bool, after: bool, inner: str) -> str:
    if not inner:
        return f"{value} is not null"
    name = "contains" if before and after else "ends_with" if before else "starts_with"
    return f"{name}({value}, {literal(inner)})"


_COMPUTED_FEATURES = {
    "wordform": "case when {0}.index <> 0 then {0}.form end",
    # The first word of a multiword token has its surface form, the others have "_".
    "textform": (
        "case when {0}.index = 0 then null when {0}.surface is not null and exists(select 1"
        " from word as previous where previous.sentence = {0}.sentence"
        " and previous.index = {0}.index - 1 and previous.surface = {0}.surface"
        " and not previous.space_after) then '_' else coalesce({0}.surface, {0}.form) end"
    ),
    "SpaceAfter": "case when not {0}.space_after and {0}.surface is null then 'No' end",
}


def feature_test(test: syntax.Test, row: str) -> str:
    """Compile a test of a feature of the word in the row with that alias."""
    name = test.feature
    # [ExtPos=ADV/upos=ADV]: ExtPos is ADV, or the word has no ExtPos and its upos is ADV.
    if test.fallback is not None:
        first = feature_test(replace(test, fallback=None), row)
        missing = feature_test(syntax.Test(name, "absent", (), test.position), row)
        return any_of([first, f"{missing} and {feature_test(test.fallback, row)}"])
    if name in MENTIONS:
        # A word may be the head of several mentions: one that passes is enough.
        positive = replace(test, kind="present") if test.kind == "absent" else test
        condition = value_test(positive, f"mention.{MENTIONS[name]}")
        condition = (
            f"exists(select 1 from mention where mention.head_word = {row}.id and {condition})"
        )
        return f"not {condition}" if test.kind == "absent" else condition
    if (
        name in COLUMNS or name in _COMPUTED_FEATURES or name == SURPRISAL
        or any(isinstance(value, syntax.Regex) for value in test.values)
    ):  # fmt: skip
        return value_test(test, feature_value(name, row))
    has = _list_contains(row, f"|{conllu_name(name)}=")
    if test.kind == "present":
        return has
    if test.kind == "absent":
        return f"not {has}"
    # FEATS separates features by bars: a value with a bar would match two features at once.
    wanted = [value for value in test.values if isinstance(value, str) and "|" not in value]
    one_of = any_of(_list_contains(row, f"|{conllu_name(name)}={value}|") for value in wanted)
    return one_of if test.kind == "equal" else f"{has} and not {one_of}"


def _list_contains(row: str, part: str) -> str:
    """Whether FEATS or MISC, with a bar added before and after, contains a text.

    Never null: `concat` skips nulls in DuckDB, and so does what sqlglot makes of it for Spark.
    """
    return any_of(
        f"contains(concat('|', {row}.{source}, '|'), {literal(part)})"
        for source in ("feats", "misc")
    )


def conllu_name(name: str) -> str:
    """The name of a feature in CoNLL-U: Number[psor] for Grew's Number__psor."""
    base, layer, owner = name.partition("__")
    return f"{base}[{owner}]" if layer and base and owner else name


def feature_value(name: str, row: str) -> str:
    """Compile a feature of the word in a row; null if the word does not have it."""
    if name in COLUMNS or name == SURPRISAL:  # scopes.py joins surprisal to the nodes that need it
        return f"{row}.{name}"
    if name == "__id__":
        return f"{row}.index"
    if name in _COMPUTED_FEATURES:
        return _COMPUTED_FEATURES[name].format(row)
    if name in MENTIONS:
        least = f"min(mention.{MENTIONS[name]})"
        return f"(select {least} from mention where mention.head_word = {row}.id)"
    pattern = "[|]" + re.sub(r"([^\w])", r"\\\1", conllu_name(name)) + "=([^|]*)"
    source = f"concat('|', {row}.feats, '|', {row}.misc)"
    return f"nullif(regexp_extract({source}, {literal(pattern)}, 1), '')"


def label_test(test: syntax.Test, relation: str) -> str:
    """Compile a test of a label or a part of one; simple tests extract nothing."""
    plain = [value for value in test.values if isinstance(value, str)]
    if (
        test.feature == "1"
        and test.kind == "equal"
        and len(plain) == len(test.values) <= _MAX_COMPARED
    ):
        marked = (f"{label}{mark}" for label in plain for mark in _PART_MARKS.values())
        return any_of(
            [
                *(f"{relation} = {literal(label)}" for label in plain),
                *(f"starts_with({relation}, {literal(prefix)})" for prefix in marked),
            ]
        )
    if test.feature in _PART_MARKS and test.kind in ("present", "absent"):
        mark = literal(_PART_MARKS[test.feature])
        return f"{'not ' * (test.kind == 'absent')}contains({relation}, {mark})"
    return value_test(test, label_part(test.feature, relation))


def label_part(feature: str, relation: str) -> str:
    """Compile a label or its part, as in 1:2$subsem@deep; null if it lacks the part."""
    if feature == syntax.WHOLE:
        return relation
    if feature in PARTS:
        return f"nullif(regexp_extract({relation}, {literal(PARTS[feature])}, 1), '')"
    return "cast(null as varchar)"


def anchor_can_pass(test: syntax.Test) -> bool:
    """Whether the node before the first word can pass a test of a feature; True if unclear."""
    if test.fallback is not None:
        return anchor_can_pass(test.fallback) or anchor_can_pass(replace(test, fallback=None))
    return _can_pass(test, ANCHOR) if test.feature == "form" else test.kind == "absent"


def can_be_root(label: Iterable[syntax.Test]) -> bool:
    """Whether a label of the tree can be root, in any case and subtype; True if unclear."""
    return all(
        test.kind != "equal" or any(map(_can_match_root, test.values))
        if test.feature in (syntax.WHOLE, "1")
        else test.feature in PARTS or test.kind == "absent"
        for test in label
    )


def _can_match_root(value: str | syntax.Regex) -> bool:
    if isinstance(value, str):
        return without_subtype(value).lower() == "root"
    pattern = translate_regex(value)
    if pattern.literals is not None:
        return any(map(_can_match_root, pattern.literals))
    if pattern.affix is None or pattern.affix[0]:  # a given ending may be that of a subtype
        return True
    start = pattern.affix[2].lower()
    return start.startswith("root") or "root".startswith(start)


def _can_pass(test: syntax.Test, value: str) -> bool:
    """Whether a value can pass a test; True if unclear."""
    if test.kind in ("present", "absent"):
        return test.kind == "present"
    matches = [
        operand == value if isinstance(operand, str) else translate_regex(operand).matches(value)
        for operand in test.values
    ]
    if True in matches:
        return test.kind == "equal"
    return None in matches or test.kind == "different"


# Conditions on the tree of a sentence, by the shapes of resolver.SHAPES.
_SHAPES = {
    # The edges that ingest keeps are those of a tree, or of a part of one, or none: a forest.
    "forest": "true",
    "cyclic": "false",
    "tree": (
        "not exists(select 1 from word as loose"
        " where loose.sentence = this_sentence.id and loose.head_index is null)"
    ),
    "projective": """not exists(
        select 1
        from word as left_edge
        inner join word as right_edge
            on right_edge.sentence = left_edge.sentence
            and least(left_edge.index, left_edge.head_index)
                < least(right_edge.index, right_edge.head_index)
            and least(right_edge.index, right_edge.head_index)
                < greatest(left_edge.index, left_edge.head_index)
            and greatest(left_edge.index, left_edge.head_index)
                < greatest(right_edge.index, right_edge.head_index)
        where left_edge.sentence = this_sentence.id)""",
}


def metadata_test(test: syntax.Test) -> str:
    """Compile a test of metadata or of the tree's shape."""
    if test.kind == "present" and test.feature in SHAPES:
        negated, shape = re.fullmatch(r"is_(not_)?(\w+)", test.feature).groups()  # type: ignore[union-attr]
        return f"{'not ' if negated else ''}{_SHAPES[shape]}"
    return value_test(test, metadata_value(test.feature))


def metadata_value(key: str) -> str:
    """Compile the metadata of a sentence, by default of its document; null if both lack the key."""
    if key in SENTENCE_COLUMNS:
        return f"{SENTENCE}.{SENTENCE_COLUMNS[key]}"
    quoted = literal(key)
    return f"coalesce({SENTENCE}.metadata[{quoted}], document.metadata[{quoted}])"


def reads_document(request: ResolvedRequest) -> bool:
    """Whether a request reads metadata that the document may have."""
    keys = {test.feature for test in request.sentence_tests}
    for scope in request.scopes():
        keys |= {
            reference.feature
            for reference in scope.feature_references()
            if scope.is_metadata(reference)
        }
    references = request.keys_of(syntax.Reference)
    keys |= {
        reference.feature for reference in references if request.pattern.is_metadata(reference)
    }
    return not keys <= SENTENCE_COLUMNS.keys() | SHAPES


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
    r"""Translate a regular expression to RE2, which DuckDB runs.

    There are two dialects: OCaml's Str (`re"..."`: `\|`, `\(` and `\)` are operators, and bare
    `|`, `(`, `{4}` and `\d` are not) and PCRE (`/.../`). RE2 has no look-around and no
    back-references, because it always answers in linear time; they raise a RequestError with their
    position.

    A value matches if the first match that a backtracking engine finds at its start is the whole
    value. RE2's leftmost-first match is the same match.
    """
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
    return tuple(filter(None, literals))


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
