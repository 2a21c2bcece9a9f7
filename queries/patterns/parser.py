"""Parse the text of a request into the tree of syntax.py.

lark is imported when the first request is parsed, because most commands parse none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache, partial
from types import SimpleNamespace
from typing import Any

from attnbank.queries.patterns import syntax
from attnbank.queries.patterns.syntax import RequestError, SourcePosition
from attnbank.sql.errors import CallError

# The most nodes in an arrangement (V#S#O), whose SQL grows with the cube of their number.
_MAX_ARRANGED = 8

# Characters of a request.
_MAX_LENGTH = 200_000

# Reserved words of Grew, which can be neither names nor unquoted values.
_KEYWORDS = frozenset({
    "pattern", "without", "with", "global", "commands", "rule", "package", "strat", "import",
    "include", "from", "lexicon", "add_edge", "del_edge", "shift", "shift_in", "shift_out",
    "add_node", "del_node", "del_feat", "append_feats", "prepend_feats", "insert", "unorder",
    "If", "Alt", "Seq", "Iter", "Pick", "Onf", "Try", "Empty",
})  # fmt: skip

# The names of the grammar's terminals in error messages.
_TERMINAL_NAMES = {
    "NAME": "the name of a node or an edge", "FEATURE": "a feature", "KEY": "a key",
    "VALUE": "a value", "STRING": '"a text in quotes"', "LABEL": "a label",
    "STR_REGEX": 're"a regular expression"', "PCRE": "/a regular expression/",
    "HEAD": "a head as in 3-1", "NUMBER": "a number", "MINUS": "a negative number",
    "ORDER": "<, <<, >, >>, <> or ><", "COMPARE": "=, <= or >=", "SIGN": "<, <=, > or >=",
    "PLUS": "+ or -", "MEASURE": "delta(..)", "LOOKS": "weight(..)", "STAR": "*", "$END": "the end",
}  # fmt: skip

# An error message lists what was expected only if there are at most this many possibilities.
_MAX_EXPECTED = 8


@lru_cache(maxsize=256)
def parse_request(text: str) -> syntax.Request:
    """Parse a request to its blocks.

    Raises RequestError, with line and column, for a syntax error; CallError for a text that is
    empty, too long, or has a null character.
    """
    if len(text) > _MAX_LENGTH:
        raise CallError(
            f"The request has {len(text):,} characters, more than {_MAX_LENGTH:,}.",
            "Make it shorter.",
        )
    if not text.strip():
        raise CallError("The request is empty.", "Type: 'pattern { V -[obj]-> O }'")
    if "\0" in text:
        raise CallError("The request contains a null character.", "Leave it out.")
    try:
        return tuple(_parser().parse(text, start="start"))
    except Exception as error:
        raise _as_request_error(error, text) from None


# What to type instead of a measure without its nodes.
_MEASURE_REMEDIES = {
    "length": "Name two nodes: length(A, B); or an edge: e.length.",
    "delta": "Name two nodes: delta(A, B); or an edge: e.delta.",
    "proj_size": "Name a node: proj_size(A).",
}


@lru_cache(maxsize=256)
def read_keys(text: str) -> tuple[syntax.Key, ...]:
    """Parse a list of keys such as `V.lemma, e.label, delta(A, B), { A -[obj]-> B }`.

    Raises RequestError, with line and column, for a syntax error.
    """
    try:
        keys = _parser().parse(text, start="keys")
    except Exception as error:
        # A bare word outside of brackets is the most common mistake: say what to write instead.
        outside = re.sub(r"[(\[{][^)\]}]*", lambda match: "." * len(match[0]), text)
        if bare := re.search(r"(?:^|,)\s*(\w+)\s*(?=,|$)", outside):
            remedy = f"Name a node: V.{bare[1]}; or metadata: document.{bare[1]}."
            raise RequestError(
                SourcePosition(1, bare.start(1) + 1), f"{bare[1]} is not a key by itself.",
                _MEASURE_REMEDIES.get(bare[1], remedy), "the keys",
            ) from None  # fmt: skip
        error = _as_request_error(error, text)
        raise (error.in_keys() if isinstance(error, RequestError) else error) from None
    # A nested pattern is a function of the text, since its action does not see the text it quotes.
    return tuple(key(text) if callable(key) else key for key in keys)


def _as_request_error(error: Exception, text: str) -> Exception:
    """Convert an error of lark to a RequestError; return any other error unchanged."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

    if isinstance(error, UnexpectedCharacters):
        return _unexpected(text, _position_of(error), repr(error.char), error.allowed or ())
    if isinstance(error, UnexpectedToken):
        expected = error.accepts or error.expected
        if isinstance(error, UnexpectedEOF) or error.token.type == "$END":
            lines = text.split("\n")
            end = SourcePosition(len(lines), len(lines[-1]) + 1)
            return _unexpected(text, end, "end of the request", expected)
        return _unexpected(text, _position_of(error), repr(str(error.token)), expected)
    return error


def _unexpected(
    text: str, position: SourcePosition, unexpected: str, expected: Any
) -> RequestError:
    from lark.lexer import PatternStr

    patterns = {terminal.name: terminal.pattern for terminal in _parser().terminals}
    fixed = {
        name: pattern.value for name, pattern in patterns.items() if isinstance(pattern, PatternStr)
    }
    words = fixed | _TERMINAL_NAMES
    names = sorted({words[name] for name in expected if name in words})
    alternatives = ", ".join(names[:_MAX_EXPECTED]) if len(names) <= _MAX_EXPECTED else ""
    line, at = text.split("\n")[position.line - 1], position.column - 1
    start = max(0, at - 100)  # not the whole line, whose search may take its length squared
    for layered in re.finditer(r"(\w+)\[(\w+)\]", line[start : at + 100]):  # as in FEATS
        if layered.start() < at - start < layered.end():
            name = f"{layered[1]}__{layered[2]}"
            fact = "a layered feature is written with two underscores."
            return RequestError(position, fact, f"Write {name}.")
    if unexpected == "'-['" and line[:at].endswith("<"):  # A <-[x]- B, as people write from habit
        return RequestError(
            position, "edges are written from head to dependent.", "Write B -[x]-> A."
        )
    fact = f"Unexpected {unexpected}."
    return RequestError(position, fact, f"Expected: {alternatives}." if alternatives else "")


@cache
def _parser() -> Any:
    """Build the parser of requests, once per process, since that is slow."""
    from lark import Lark

    def inline(action: Callable[..., Any]) -> Callable[[list[Any]], Any]:
        return lambda children: action(*children)

    actions = SimpleNamespace(**{name: inline(action) for name, action in _ACTIONS.items()})
    return Lark.open_from_package(
        __package__, "grammar.lark", parser="lalr", start=["start", "keys"], transformer=actions,
        maybe_placeholders=False,
    )  # fmt: skip


def _position_of(token: Any) -> SourcePosition:
    return SourcePosition(token.line, token.column)


def _unescaped(inner: str, offset: int) -> tuple[str, tuple[int, ...]]:
    r"""A quoted text with `\"` and `\\` unescaped, and the column of each of its characters."""
    characters = [*re.finditer(r'\\(["\\])|([\s\S])', inner)]
    text = "".join(character[1] or character[2] for character in characters)
    return text, tuple(offset + character.start() for character in characters)


def _text_of_token(token: Any) -> str:
    """The text of a value in NFC, without quotes; unquoted numbers are normalised as by Grew."""
    text = str(token)
    if token.type == "STRING":
        text = _unescaped(text[1:-1], 1)[0]
    elif text in _KEYWORDS:
        raise RequestError(
            _position_of(token), f"{text} is a reserved word.", f'Quote it: "{text}".'
        )
    elif token.type == "VALUE" and re.fullmatch(r"[0-9]+(\.[0-9]*)?", text):
        text = f"{float(text):g}"
    return unicodedata.normalize("NFC", text)


def _regex(token: Any) -> syntax.Regex:
    text = str(token)
    if token.type == "STR_REGEX":
        inner, columns = _unescaped(text[3:-1], 3)
        return syntax.Regex(inner, "str", False, _position_of(token), columns)
    ignores_case = text.endswith("/i")
    inner = text[1 : -2 if ignores_case else -1]
    columns = tuple(range(1, len(inner) + 1))
    return syntax.Regex(inner, "pcre", ignores_case, _position_of(token), columns)


def _constant(token: Any) -> syntax.Constant:
    if token.type in ("STR_REGEX", "PCRE"):
        return syntax.Constant(_regex(token), True, str(token), _position_of(token))
    value, is_quoted = _text_of_token(token), token.type == "STRING"
    return syntax.Constant(
        value, is_quoted, value if is_quoted else str(token), _position_of(token)
    )


def _test(kind: syntax.Kind, feature: Any, values: tuple[syntax.Constant, ...] = ()) -> syntax.Test:
    for value in values:
        if feature.type == "FEATURE" and is_dotted(value):
            raise RequestError(
                value.position, f"{value} is a field of a lexicon, and requests have no lexicons.",
                f'Quote a text with a full stop: "{value}".',
            )  # fmt: skip
    return syntax.Test(
        _text_of_token(feature), kind, tuple(value.value for value in values), _position_of(feature)
    )


def _test_with_fallback(feature: Any, values: Any, *fallbacks: Any) -> syntax.Test:
    return replace(
        _test("equal", feature, values),
        fallback=_test_with_fallback(*fallbacks) if fallbacks else None,
    )


def is_dotted(value: syntax.Constant) -> bool:
    """Whether an unquoted value that is not a number has a full stop, like `Z.Number`."""
    text = "" if value.is_quoted else str(value.value)
    return "." in text and not re.fullmatch(r"[0-9.]+", text)


def _parse_name(token: Any) -> syntax.Name:
    if str(token) in _KEYWORDS - {"global"}:  # allowed as an owner: global.is_tree
        raise RequestError(_position_of(token), f"{token} is a reserved word.", "Use another name.")
    return syntax.Name(str(token), _position_of(token))


_NO_NODE = "an edge needs a node on at least one side."


def _whole_label(kind: syntax.Kind, *values: syntax.Value) -> tuple[syntax.Test]:
    return (syntax.Test(syntax.WHOLE, kind, values, SourcePosition(1, 1)),)


def _edge(label: tuple[syntax.Test, ...], name: Any, source: Any, target: Any) -> syntax.Edge:
    """An edge, its label without the mark of the enhanced graph.

    Raises RequestError for a label that would allow both graphs.
    """
    if source is None and target is None:  # stars have no position
        raise RequestError(SourcePosition(1, 1), _NO_NODE)
    edge = syntax.Edge(source, target, name, label, False)
    marked: list[bool] = []
    for test in label:
        if test.feature == syntax.WHOLE:
            texts = [
                value.text if isinstance(value, syntax.Regex) else value for value in test.values
            ]
            marked += [text.startswith(syntax.ENHANCED) for text in texts]
            if test.kind == "equal":
                label = _whole_label("equal", *(
                    value.removeprefix(syntax.ENHANCED) if isinstance(value, str) else value
                    for value in test.values
                ))  # fmt: skip
            is_mixed = test.kind == "different" and any(marked)
        elif test.feature == "enhanced":
            marked.append(test.kind != "absent")
            is_yes = (test.kind, test.values) == ("equal", ("yes",))
            is_mixed = not is_yes and test.kind not in ("present", "absent")
        else:
            continue
        if is_mixed or len(set(marked)) > 1:
            raise RequestError(
                edge.position, "an edge cannot be of both the tree and the enhanced graph.",
                "Write -[E:obj|E:iobj]-> or -[enhanced=yes]->; other edges are of the tree.",
            )  # fmt: skip
    plain = tuple(test for test in label if test.feature != "enhanced")
    return replace(edge, label=plain, is_enhanced=any(marked))


def _path(name: Any, source: Any, target: Any) -> syntax.Path:
    names = [part for part in (name, source, target) if part is not None]
    if name is not None or source is None or target is None:
        position = names[0].position if names else SourcePosition(1, 1)
        raise RequestError(position, "->> goes between two nodes and cannot be named.")
    return syntax.Path(source, target)


def _parse_attention_head(token: Any) -> syntax.Head:
    layer, _, head = str(token).partition("-")
    return syntax.Head(*(None if number in ("*", "") else int(number) for number in (layer, head)))


def _attention_edge(
    head: Any, sign: Any, number: Any, name: Any, source: Any, target: Any
) -> syntax.AttentionEdge:
    if source is None and target is None:
        raise RequestError(_position_of(head), _NO_NODE)
    threshold = None if number is None else float(number)
    return syntax.AttentionEdge(
        source, target, name, _parse_attention_head(head), sign, threshold, _position_of(head)
    )


def _coreference(source: syntax.Name | None, target: syntax.Name | None) -> syntax.Corefers:
    if source is None and target is None:
        raise RequestError(SourcePosition(1, 1), "~ needs a node on at least one side.")
    return syntax.Corefers(source, target)


def _order(left: syntax.Name, sign: Any, right: syntax.Name) -> syntax.Order:
    if sign in (">", ">>"):
        return syntax.Order(right, "<" if sign == ">" else "<<", left, _position_of(sign))
    return syntax.Order(left, str(sign), right, _position_of(sign))  # type: ignore[arg-type]


def _sum(*children: Any) -> syntax.Sum:
    signs = ["+", *map(str, children[1::2])]
    return syntax.Sum(tuple(zip(signs, children[::2], strict=True)))  # type: ignore[arg-type]


def _measure(kind: Any, *names: syntax.Name) -> syntax.NodeFunction:
    if str(kind) not in ("delta", "length", "proj_size"):
        raise RequestError(
            _position_of(kind), f"{kind} is not supported.",
            f"proj_size({names[0]}) counts the words of its subtree.",
        )  # fmt: skip
    wanted = ("one node", "A") if str(kind) == "proj_size" else ("two nodes", "A, B")
    if len(names) != len(wanted[1].split()):
        raise RequestError(
            _position_of(kind), f"{kind} takes {wanted[0]}.", f"Write {kind}({wanted[1]})."
        )
    return syntax.NodeFunction(str(kind), names[0], names[-1], _position_of(kind))


def _comparison(left: Any, operator: Any, right: Any) -> syntax.Comparison | syntax.Presence:
    if str(right) == "*" and not isinstance(right, syntax.Constant):
        if str(operator) != "=" or not isinstance(left, syntax.Reference):
            raise RequestError(left.position, "* means any value of a feature.", "Write N.f = *.")
        return syntax.Presence(left, True)
    if str(operator) not in ("=", "<>", "<", "<=", ">", ">="):
        raise RequestError(_position_of(operator), f"{operator} goes between two nodes or edges.")
    return syntax.Comparison(left, str(operator), right)  # type: ignore[arg-type]


def _collect_keys(*children: Any) -> list[Any]:
    keys: list[Any] = []
    for child in children:
        if isinstance(child, syntax.Order):
            keys.append(syntax.Nested((child,), f"{child.left} {child.sign} {child.right}"))
        else:
            keys += child if isinstance(child, list) else [child]
    return keys


def _nested(begin: Any, clauses: tuple[Any, ...], end: Any) -> Callable[[str], syntax.Nested]:
    """A function that makes a pattern a key, given the whole text, of which it quotes its part."""
    return lambda text: syntax.Nested(
        clauses, " ".join(text[begin.start_pos : end.end_pos].split())
    )


def _arrangement(*names: syntax.Name) -> syntax.Arrangement:
    if len(names) > _MAX_ARRANGED:
        raise RequestError(
            names[0].position, f"{len(names)} nodes are too many; the maximum is {_MAX_ARRANGED}.",
            "Name fewer nodes.",
        )  # fmt: skip
    return syntax.Arrangement(names)


def _bound(name: Any, number: Any) -> tuple[str, int]:
    if str(name) not in ("gap", "min", "max"):
        raise RequestError(_position_of(name), f"{name} is unknown.", "Give gap, min or max.")
    if "." in number:
        raise RequestError(_position_of(number), f"{name} must be a whole number.")
    return str(name), int(number)


def _parse_interval(term: Any, *bounds: tuple[str, int]) -> syntax.Interval:
    limits = dict(bounds)
    least, most = limits.get("min"), limits.get("max")
    if limits.get("gap", 0) < 1 or (least is not None and most is not None and least >= most):
        raise RequestError(
            term.position, "intervals need a gap of 1 or more, and a min below max.",
            f"Write {term}[gap=100] or {term}[gap=10, min=0, max=50].",
        )  # fmt: skip
    return syntax.Interval(term, limits["gap"], least, most)


def _attention_key(kind: Any, written: Any, *arguments: Any) -> syntax.AttentionKey:
    names = [argument for argument in arguments if isinstance(argument, syntax.Name)]
    features = [str(argument) for argument in arguments[len(names) :]]
    head, position = _parse_attention_head(written), _position_of(kind)
    if head.layer is None or head.head is None:
        raise RequestError(
            _position_of(written), f"{kind} takes one head.", f"Write {kind}(3-1, ..)."
        )
    if str(kind) == "weight":
        if len(names) != 2 or features:
            raise RequestError(position, "weight takes two nodes.", "Write weight(3-1, A, B).")
        return syntax.AttentionKey(head, names[0], names[1], "weight", position)
    if len(names) != 1:
        raise RequestError(position, "looks_at takes one node.", "Write looks_at(3-1, A).")
    feature = features[0] if features else "form"
    return syntax.AttentionKey(head, names[0], None, feature, position)


# The actions of the grammar's rules and aliases, called with the results of their parts.
_ACTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("start", "clauses", "global_clauses", "structure", "values", "label_names",
         "label_parts"), lambda *children: children,
    ),
    "pattern": partial(syntax.Block, "pattern"),
    "without": partial(syntax.Block, "without"),
    "with_": partial(syntax.Block, "with"),
    "global_": partial(syntax.Block, "global", ()),
    # nodes
    "name": _parse_name,
    "node": lambda name, *alternatives: syntax.Node(name, alternatives),
    "equal": partial(_test, "equal"),
    "different": partial(_test, "different"),
    "present": lambda feature, *star: _test("present", feature),
    "absent": partial(_test, "absent"),
    "with_fallback": _test_with_fallback,
    "value": _constant,
    "label_value": _constant,
    "minus": lambda token: syntax.Constant(str(token), False, str(token), _position_of(token)),
    # edges: an arrow becomes a function of the edge's name and its two ends
    "edge": lambda *parts: parts[-2](parts[0] if len(parts) > 3 else None, parts[-3], parts[-1]),
    "end": lambda end: end if isinstance(end, syntax.Name) else None,
    "any_edge": lambda: partial(_edge, ()),
    "path": lambda: _path,
    "labelled": lambda label: partial(_edge, label),
    "not_labelled": lambda names: partial(_edge, _whole_label("different", *names)),
    "attention": lambda head, sign=None, number=None: partial(_attention_edge, head, sign, number),
    "label_whole": lambda names: _whole_label("equal", *names),
    "label_regex": lambda token: _whole_label("equal", _regex(token)),
    "label_name": _text_of_token,
    # what ties nodes and edges to each other
    "coreference": _coreference,
    "order": _order,
    "comparison": _comparison,
    "operator": lambda sign: sign,
    "is_present": partial(syntax.Presence, is_present=True),
    "is_absent": partial(syntax.Presence, is_present=False),
    "reference": lambda owner, first, *others: syntax.Reference(
        owner, str(first), tuple(map(str, others))
    ),
    "sum": _sum,
    "measure": _measure,
    # keys
    "keys": _collect_keys,
    "nested": _nested,
    "attention_key": _attention_key,
    "arrangement": _arrangement,
    "relation": syntax.RelationKey,
    "mutual": partial(syntax.RelationKey, is_mutual=True),
    "bound": _bound,
    "interval": _parse_interval,
}  # fmt: skip
