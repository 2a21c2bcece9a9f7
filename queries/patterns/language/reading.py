"""Parsing the text of a request into the tree of tree.py.

lark is imported when the first request is parsed, because most commands parse none.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.faults import RequestError
from attnbank.queries.patterns.language.tree import Place
from attnbank.sql.errors import CallError

LONGEST = 200_000
"""The most characters that a request may have."""

_KEYWORDS = frozenset({
    "pattern", "without", "with", "global", "commands", "rule", "package", "strat", "import",
    "include", "from", "lexicon", "add_edge", "del_edge", "shift", "shift_in", "shift_out",
    "add_node", "del_node", "del_feat", "append_feats", "prepend_feats", "insert", "unorder",
    "If", "Alt", "Seq", "Iter", "Pick", "Onf", "Try", "Empty",
})  # fmt: skip
"""Words that can be neither names nor unquoted values, as in Grew."""
_WORDS = {
    "NAME": "the name of a node or an edge", "FEATURE": "a feature", "KEY": "a key",
    "VALUE": "a value", "STRING": '"a text in quotes"', "LABEL": "a label",
    "STR_REGEX": 're"a regular expression"', "PCRE": "/a regular expression/",
    "HEAD": "a head as in 3-1", "NUMBER": "a number", "MINUS": "a negative number",
    "ORDER": "<, <<, >, >>, <> or ><", "COMPARE": "=, <= or >=", "SIGN": "<, <=, > or >=",
    "MEASURE": "delta(..)", "LOOKS": "weight(..)", "STAR": "*", "$END": "the end",
}  # fmt: skip
"""What each terminal of the grammar is called in an error."""
_MOST_EXPECTED = 8
"""An error lists what was expected only if there are no more possibilities than these."""


@lru_cache(maxsize=256)
def read(text: str) -> tree.Request:
    """The tree of a request.

    Raises RequestError with line and column for a text that is not a request, CallError for one
    that is too long or empty, or has a null character.
    """
    if len(text) > LONGEST:
        raise CallError(
            f"The request has {len(text):,} characters, more than {LONGEST:,}.", "Make it shorter."
        )
    if not text.strip():
        raise CallError("The request is empty.", "Type: 'pattern { V -[obj]-> O }'")
    if "\0" in text:
        raise CallError("The request holds a null character.", "Leave it out.")
    try:
        return tree.Request(tuple(_parser().parse(text, start="start")))
    except Exception as error:
        raise _told(error, text) from None


@lru_cache(maxsize=256)
def read_keys(text: str) -> tuple[tree.Key, ...]:
    """The keys in a list such as `V.lemma, e.label, delta(A, B), { A -[obj]-> B }`.

    Raises RequestError with line and column for a text that is not such a list.
    """
    try:
        found = _parser().parse(text, start="keys")
    except Exception as error:
        raise _told(error, text) from None
    # A nested pattern comes as a function, because its action does not see the text that it quotes.
    return tuple(each(text) if callable(each) else each for each in found)


def _told(error: Exception, text: str) -> Exception:
    """The error to raise for an error of the parser; any other error as it is."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken, VisitError

    if isinstance(error, VisitError):
        return error.orig_exc
    if isinstance(error, UnexpectedCharacters):
        place = Place(error.line, error.column)
        return _unexpected(text, place, repr(error.char), error.allowed or ())
    if isinstance(error, UnexpectedToken):
        at_end = isinstance(error, UnexpectedEOF) or error.token.type == "$END"
        place = _end(text) if at_end else Place(error.line, error.column)
        found = "the end" if at_end else repr(str(error.token))
        return _unexpected(text, place, found, error.accepts or error.expected)
    return error


def _end(text: str) -> Place:
    lines = text.split("\n")
    return Place(len(lines), len(lines[-1]) + 1)


def _unexpected(text: str, place: Place, found: str, expected: Any) -> RequestError:
    names = sorted({_word(each) for each in expected} - {""})
    told = ", ".join(names[:_MOST_EXPECTED]) if len(names) <= _MOST_EXPECTED else ""
    before = text.split("\n")[place.line - 1][: place.column - 1]
    if found == "'-['" and before.endswith("<"):  # A <-[x]- B, as people write from habit
        return RequestError(place, "edges are written from head to dependent.", "Write B -[x]-> A.")
    fact = f"{found} cannot stand here."
    return RequestError(place, fact, f"Expected: {told}." if told else "")


def _word(terminal: str) -> str:
    if terminal in _WORDS:
        return _WORDS[terminal]
    return _literals().get(terminal, "")


@cache
def _literals() -> dict[str, str]:
    """The terminals that are fixed signs and words: their texts by name."""
    return {
        each.name: each.pattern.value
        for each in _parser().terminals
        if type(each.pattern).__name__ == "PatternStr"
    }


@cache
def _parser() -> Any:
    """The parser of requests; it is made once per process, since building it is slow."""
    from lark import Lark, Transformer

    class Reader(Transformer, _Actions):  # type: ignore[type-arg]
        """The actions as lark needs them: the methods of a transformer."""

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        start=["start", "keys"],
        transformer=Reader(),
        maybe_placeholders=False,
    )


def _place(token: Any) -> Place:
    return Place(token.line, token.column)


def _unescaped(inner: str, offset: int) -> tuple[str, tuple[int, ...]]:
    r"""A quoted text with `\"` and `\\` unescaped, and the column of each of its characters."""
    characters, columns = [], []
    at = 0
    while at < len(inner):
        columns.append(offset + at)
        if inner[at] == "\\" and inner[at + 1 : at + 2] in ('"', "\\"):
            at += 1
        characters.append(inner[at])
        at += 1
    return "".join(characters), tuple(columns)


def _plain(token: Any) -> str:
    """The text that a value means: an unquoted number as Grew normalises it, and all in NFC."""
    text = str(token)
    if token.type == "STRING":
        text = _unescaped(text[1:-1], 1)[0]
    elif text in _KEYWORDS:
        raise RequestError(
            _place(token), f"{text} is a word of the language.", f'Quote it: "{text}".'
        )
    elif token.type == "VALUE" and re.fullmatch(r"[0-9]+(\.[0-9]*)?", text):
        text = f"{float(text):g}"
    return unicodedata.normalize("NFC", text)


def _regex(token: Any) -> tree.Regex:
    text = str(token)
    if token.type == "STR_REGEX":
        inner, columns = _unescaped(text[3:-1], 3)
        return tree.Regex(inner, "str", False, _place(token), columns)
    ignores_case = text.endswith("/i")
    inner = text[1 : -2 if ignores_case else -1]
    columns = tuple(range(1, len(inner) + 1))
    return tree.Regex(inner, "pcre", ignores_case, _place(token), columns)


def _test(kind: Any, feature: Any, values: tuple[tree.Value, ...] = ()) -> tree.Test:
    return tree.Test(_plain(feature), kind, values, _place(feature))


def _head(token: Any) -> tree.Head:
    layer, _, head = str(token).partition("-")
    return tree.Head(*(None if each in ("*", "") else int(each) for each in (layer, head)))


def _edge(name: Any, source: Any, target: Any, label: Any) -> tree.Edge:
    if source is None and target is None:
        raise RequestError(Place(1, 1), "an edge has a node at one end at least.")
    place = source.place if source is not None else target.place
    return tree.Edge(name, source, target, label, place)


def _path(name: Any, source: Any, target: Any) -> tree.Path:
    for given in (source, target):
        if given is None or name is not None:
            place = (name or source or target).place if name or source or target else Place(1, 1)
            raise RequestError(place, "->> stands between two nodes, and has no name.")
    return tree.Path(source, target, source.place)


class _Actions:
    """What each rule of the grammar becomes: lark calls the method of that name with its children.

    An arrow becomes a function of the name and the two ends of its edge, which `edge` calls.
    """

    def start(self, blocks: list[Any]) -> list[tree.Block]:
        return blocks

    def keys(self, children: list[Any]) -> list[Any]:
        return children

    def nested(self, children: list[Any]) -> Any:
        begin, clauses, end = children
        return lambda text: tree.Nested(
            clauses, " ".join(text[begin.start_pos : end.end_pos].split()), _place(begin)
        )

    def pattern(self, children: list[Any]) -> tree.Block:
        return tree.Block("pattern", children[0])

    def without(self, children: list[Any]) -> tree.Block:
        return tree.Block("without", children[0])

    def with_(self, children: list[Any]) -> tree.Block:
        return tree.Block("with", children[0])

    def global_(self, children: list[Any]) -> tree.Block:
        return tree.Block("global", (), children[0])

    def clauses(self, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    global_clauses = clauses

    def name(self, children: list[Any]) -> tree.Name:
        (token,) = children
        if str(token) in _KEYWORDS - {"global"}:  # which stands before a shape: global.is_tree
            raise RequestError(
                _place(token), f"{token} is a word of the language.", "Give another name."
            )
        return tree.Name(str(token), _place(token))

    def node(self, children: list[Any]) -> tree.Node:
        name, *alternatives = children
        return tree.Node(name, tuple(alternatives))

    def structure(self, children: list[Any]) -> tuple[tree.Test, ...]:
        return tuple(children)

    def equal(self, children: list[Any]) -> tree.Test:
        return _test("equal", *children)

    def different(self, children: list[Any]) -> tree.Test:
        return _test("different", *children)

    def present(self, children: list[Any]) -> tree.Test:
        return _test("present", children[0])

    def absent(self, children: list[Any]) -> tree.Test:
        return _test("absent", children[0])

    def values(self, children: list[Any]) -> tuple[tree.Value, ...]:
        return tuple(each.value for each in children)

    def value(self, children: list[Any]) -> tree.Literal_:
        (token,) = children
        if token.type in ("STR_REGEX", "PCRE"):
            return tree.Literal_(_regex(token), True, _place(token))
        return tree.Literal_(_plain(token), token.type == "STRING", _place(token))

    label_value = value

    def minus(self, children: list[Any]) -> tree.Literal_:
        return tree.Literal_(str(children[0]), False, _place(children[0]))

    def end(self, children: list[Any]) -> tree.Name | None:
        (first,) = children
        return first if isinstance(first, tree.Name) else None

    def edge(self, children: list[Any]) -> tree.Clause:
        *names, source, arrow, target = children
        made: tree.Clause = arrow(names[0] if names else None, source, target)
        return made

    def any_edge(self, children: list[Any]) -> Any:
        return lambda name, source, target: _edge(name, source, target, None)

    def path(self, children: list[Any]) -> Any:
        return _path

    def labelled(self, children: list[Any]) -> Any:
        return lambda name, source, target: _edge(name, source, target, children[0])

    def not_labelled(self, children: list[Any]) -> Any:
        label = tree.WholeLabel(children[0], True)
        return lambda name, source, target: _edge(name, source, target, label)

    def label_whole(self, children: list[Any]) -> tree.WholeLabel:
        return tree.WholeLabel(children[0])

    def label_regex(self, children: list[Any]) -> tree.RegexLabel:
        return tree.RegexLabel(_regex(children[0]))

    def label_parts(self, children: list[Any]) -> tree.PartLabel:
        return tree.PartLabel(tuple(children))

    def label_names(self, children: list[Any]) -> tuple[str, ...]:
        return tuple(children)

    def label_name(self, children: list[Any]) -> str:
        return _plain(children[0])

    def attention(self, children: list[Any]) -> Any:
        written, *threshold = children
        asked = _head(written)
        sign = str(threshold[0]) if threshold else None
        least = float(threshold[1]) if threshold else None
        place = _place(written)

        def made(name: Any, source: Any, target: Any) -> tree.Attends:
            if source is None and target is None:
                raise RequestError(place, "an edge has a node at one end at least.")
            return tree.Attends(name, source, target, asked, sign, least, place)  # type: ignore[arg-type]

        return made

    def order(self, children: list[Any]) -> tree.Order:
        left, sign, right = children
        signs = {">": "<", ">>": "<<"}
        if str(sign) in signs:
            return tree.Order(right, signs[str(sign)], left, _place(sign))  # type: ignore[arg-type]
        return tree.Order(left, str(sign), right, _place(sign))  # type: ignore[arg-type]

    def operator(self, children: list[Any]) -> Any:
        return children[0]

    def reference(self, children: list[Any]) -> tree.Reference:
        owner, feature = children
        return tree.Reference(owner, str(feature), owner.place)

    def measure(self, children: list[Any]) -> tree.Measure:
        kind, *names = children
        if str(kind) == "proj_size":
            if len(names) != 1:
                raise RequestError(_place(kind), "proj_size is of one node.", "Write proj_size(A).")
            names *= 2
        if len(names) != 2:
            raise RequestError(_place(kind), f"{kind} is of two nodes.", f"Write {kind}(A, B).")
        return tree.Measure(str(kind), names[0], names[1], _place(kind))

    def looks(self, children: list[Any]) -> tree.Looks:
        kind, written, *rest = children
        names = [each for each in rest if isinstance(each, tree.Name)]
        features = [str(each) for each in rest[len(names) :]]
        asked = _head(written)
        if asked.layer is None or asked.head is None:
            raise RequestError(
                _place(written), f"{kind} is of one head.", f"Write {kind}(3-1, ..)."
            )
        if str(kind) == "weight":
            if len(names) != 2 or features:
                raise RequestError(
                    _place(kind), "weight is between two nodes.", "Write weight(3-1, A, B)."
                )
            return tree.Looks("weight", asked, names[0], names[1], "weight", _place(kind))
        if len(names) != 1:
            raise RequestError(_place(kind), "looks_at is of one node.", "Write looks_at(3-1, A).")
        feature = features[0] if features else "form"
        return tree.Looks("looks_at", asked, names[0], None, feature, _place(kind))

    def comparison(self, children: list[Any]) -> tree.Comparison:
        left, operator, right = children
        if str(operator) not in ("=", "<>", "<", "<=", ">", ">="):
            raise RequestError(_place(operator), f"{operator} is between two nodes or edges.")
        return tree.Comparison(left, str(operator), right, left.place)  # type: ignore[arg-type]

    def is_present(self, children: list[Any]) -> tree.Presence:
        return tree.Presence(children[0], True, children[0].place)

    def is_absent(self, children: list[Any]) -> tree.Presence:
        return tree.Presence(children[0], False, children[0].place)

    def coreference(self, children: list[Any]) -> tree.Corefers:
        one, other = children
        near = one or other
        if near is None:
            raise RequestError(Place(1, 1), "~ has a node at one side at least.")
        return tree.Corefers(one, other, near.place)
