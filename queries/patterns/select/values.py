"""What a request asks of a value, as SQL: features, labels, metadata, regular expressions.

A plain comparison is used wherever it can replace a regular expression, since it is faster. A
missing value (null) fits no value that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.regexes import translated
from attnbank.queries.patterns.select import terms
from attnbank.queries.patterns.select.terms import column, text

COLUMNS = frozenset({"form", "lemma", "upos", "xpos"})
"""Features that are columns of table `word`."""
MENTIONS = {"mention": "kind", "entity_type": "type"}
"""Features of the mentions that a word is the head of, and their columns in table `mention`."""
ANCHOR = "__0__"
"""The form of the node before the first word."""
_MANY = 2
"""Up to so many values of a label's first part are compared; for more, the part is extracted."""

Maker = Callable[[], exp.Expr]
"""Makes a new copy of an expression each time, since a node can be in only one place of a tree."""


def matches(value: Maker, wanted: Sequence[tree.Value]) -> exp.Expr:
    """Whether a value is one of those that are wanted; never true if it is null."""
    texts: list[str] = []
    others: list[exp.Expr] = []
    for each in wanted:
        if isinstance(each, str):
            texts.append(each)
            continue
        pattern = translated(each)
        if pattern.literals is not None:
            texts.extend(pattern.literals)
        elif pattern.affix is not None:
            others.append(_with_affix(value, *pattern.affix))
        else:
            found = terms.extracted(value(), pattern.text)
            others.append(terms.equal(found, value()))
    texts = list(dict.fromkeys(texts))
    if texts or not others:
        others.insert(0, terms.among(value(), texts))
    return terms.either(others) if len(others) == 1 else exp.Paren(this=terms.either(others))


def _with_affix(value: Maker, before: bool, after: bool, inner: str) -> exp.Expr:
    if not inner:
        return terms.not_null(value())
    if before and after:
        return exp.Contains(this=value(), expression=text(inner))
    kind = exp.EndsWith if before else exp.StartsWith
    return kind(this=value(), expression=text(inner))


def fits(test: tree.Test, value: Maker) -> exp.Expr:
    """The condition for a test of a value; a missing value must be null."""
    if test.kind == "present":
        return terms.not_null(value())
    if test.kind == "absent":
        return terms.is_null(value())
    found = matches(value, test.values)
    return found if test.kind == "equal" else _other_than(value, test.values, found)


def _other_than(value: Maker, wanted: Sequence[tree.Value], found: exp.Expr) -> exp.Expr:
    if len(wanted) == 1 and isinstance(wanted[0], str):
        return terms.unequal(value(), text(wanted[0]))
    return exp.Not(this=found)


def feature_test(test: tree.Test, row: str) -> exp.Expr:
    """The condition for a test of a feature of the word in the row with that alias."""
    name = test.feature
    if name in COLUMNS or name in ("textform", "wordform", "SpaceAfter"):
        return fits(test, lambda: feature(name, row))
    if name in MENTIONS:
        return _mention_test(test, row)
    if test.kind == "present":
        return _has(row, f"|{_in_source(name)}=")
    if test.kind == "absent":
        return terms.never(_has(row, f"|{_in_source(name)}="))
    if any(isinstance(each, tree.Regex) for each in test.values):
        return fits(test, lambda: feature(name, row))
    # No value in FEATS contains a bar: a wanted value with one would match two features at once.
    wanted = [each for each in test.values if isinstance(each, str) and "|" not in each]
    texts = [f"|{_in_source(name)}={each}|" for each in wanted]
    one_of = terms.either(each for each in (_has(row, part) for part in texts))
    if test.kind == "equal":
        return one_of if len(texts) == 1 else exp.Paren(this=one_of)
    return exp.And(
        this=_has(row, f"|{_in_source(name)}="), expression=exp.Not(this=exp.Paren(this=one_of))
    )


def _mention_test(test: tree.Test, row: str) -> exp.Expr:
    """The condition for a test of the mentions whose head is the word in the row.

    A word may be the head of several mentions: it is enough that the test holds for one of them.
    """
    some = _mentioned(row, terms.not_null(column("mention", MENTIONS[test.feature])))
    if test.kind == "present":
        return some
    if test.kind == "absent":
        return exp.Not(this=some)
    return _mentioned(row, fits(test, lambda: column("mention", MENTIONS[test.feature])))


def _mentioned(row: str, condition: exp.Expr) -> exp.Expr:
    return exp.Exists(
        this=exp.Select(
            expressions=[terms.number(1)],
            from_=exp.From(this=terms.table("mention")),
            where=exp.Where(
                this=terms.every(
                    [terms.equal(column("mention", "head_word"), column(row, "id")), condition]
                )
            ),
        )
    )


def _has(row: str, part: str) -> exp.Expr:
    """Whether FEATS or MISC contains a part, each with a bar added before and after it."""
    found = [
        exp.Contains(
            this=terms.joined(text("|"), column(row, name), text("|")), expression=text(part)
        )
        for name in ("feats", "misc")
    ]
    return exp.Paren(this=terms.either(found))


def _in_source(name: str) -> str:
    """The name of a feature as CoNLL-U writes it: Number[psor] for Number__psor."""
    base, layer, of = name.partition("__")
    return f"{base}[{of}]" if layer and base and of else name


def feature(name: str, row: str) -> exp.Expr:
    """The value of a feature of the word in a row; null if the word does not have it."""
    if name in COLUMNS:
        return column(row, name)
    if name == "__id__":
        return column(row, "index")
    is_anchor = terms.equal(column(row, "index"), terms.number(0))
    if name == "wordform":
        return exp.Case(ifs=[exp.If(this=exp.Not(this=is_anchor), true=column(row, "form"))])
    if name == "textform":
        is_later = terms.every([terms.not_null(column(row, "surface")), _continues(row)])
        return exp.Case(
            ifs=[exp.If(this=is_anchor, true=exp.Null()), exp.If(this=is_later, true=text("_"))],
            default=exp.Coalesce(this=column(row, "surface"), expressions=[column(row, "form")]),
        )
    if name == "SpaceAfter":
        closed = terms.every(
            [exp.Not(this=column(row, "space_after")), terms.is_null(column(row, "surface"))]
        )
        return exp.Case(ifs=[exp.If(this=closed, true=text("No"))])
    if name in MENTIONS:
        select = exp.Select(
            expressions=[exp.Min(this=column("mention", MENTIONS[name]))],
            from_=exp.From(this=terms.table("mention")),
            where=exp.Where(this=terms.equal(column("mention", "head_word"), column(row, "id"))),
        )
        return exp.Subquery(this=select)
    pattern = "[|]" + re.sub(r"([^\w])", r"\\\1", _in_source(name)) + "=([^|]*)"
    both = terms.joined(text("|"), column(row, "feats"), text("|"), column(row, "misc"))
    return terms.or_null(terms.extracted(both, pattern, 1))


def _continues(row: str) -> exp.Expr:
    """Whether the word before belongs to the same multiword token."""
    previous = f"{row}_previous"
    same = [
        terms.equal(column(previous, "sentence"), column(row, "sentence")),
        terms.equal(
            column(previous, "index"),
            exp.Sub(this=column(row, "index"), expression=terms.number(1)),
        ),
        terms.equal(column(previous, "surface"), column(row, "surface")),
        exp.Not(this=column(previous, "space_after")),
    ]
    select = exp.Select(
        expressions=[terms.number(1)],
        from_=exp.From(this=terms.table("word", previous)),
        where=exp.Where(this=terms.every(same)),
    )
    return exp.Exists(this=select)


def label_test(label: tree.Label, row: str) -> list[exp.Expr]:
    """The conditions that a label sets on the relation of the dependent in the row."""
    if isinstance(label, tree.WholeLabel):
        found = terms.among(column(row, "deprel"), label.names)
        return [_not_among(row, label.names) if label.is_negated else found]
    if isinstance(label, tree.RegexLabel):
        return [matches(lambda: column(row, "deprel"), [label.regex])]
    return [_part_test(test, row) for test in label.tests]


def _not_among(row: str, names: Sequence[str]) -> exp.Expr:
    if len(names) == 1:
        return terms.unequal(column(row, "deprel"), text(names[0]))
    return exp.Not(this=terms.among(column(row, "deprel"), names))


def _part_test(test: tree.Test, row: str) -> exp.Expr:
    """The condition for a test of one part of a label; simple tests need no extraction."""
    values = test.values
    if test.feature == "1" and test.kind == "equal" and len(values) <= _MANY:
        either = []
        for each in values:
            if not isinstance(each, str):
                break
            whole = terms.equal(column(row, "deprel"), text(each))
            begins = exp.StartsWith(this=column(row, "deprel"), expression=text(f"{each}:"))
            either += [whole, begins]
        else:
            return exp.Paren(this=terms.either(either))
    if test.feature == "2" and test.kind in ("present", "absent"):
        has = exp.Contains(this=column(row, "deprel"), expression=text(":"))
        return has if test.kind == "present" else exp.Not(this=has)
    return fits(test, lambda: label_part(test.feature, row))


def label_part(feature: str, row: str) -> exp.Expr:
    """The whole label (label), or its part before (1) or after (2) the first colon; else null."""
    if feature == "label":
        return column(row, "deprel")
    if feature == "1":
        return terms.or_null(terms.extracted(column(row, "deprel"), "^[^:]*"))
    if feature == "2":
        return terms.or_null(terms.extracted(column(row, "deprel"), "^[^:]*:(.*)$", 1))
    return exp.Cast(this=exp.Null(), to=exp.DataType(this=exp.DType.VARCHAR))


def anchor_can(test: tree.Test) -> bool:
    """Whether the node before the first word can pass a test of a feature."""
    if test.feature != "form":
        return test.kind == "absent"
    if test.kind in ("present", "absent"):
        return test.kind == "present"
    found = _is_one_of(test.values, ANCHOR)
    return found is None or found == (test.kind == "equal")


def label_can_be(label: tree.Label | None, whole: str) -> bool:
    """Whether a label can be `whole`, which has no subtype; True if that is hard to tell."""
    if label is None:
        return True
    if isinstance(label, tree.WholeLabel):
        return (whole in label.names) != label.is_negated
    if isinstance(label, tree.RegexLabel):
        return _is_one_of([label.regex], whole) is not False
    for test in label.tests:
        if test.feature != "1":
            if test.kind != "absent":
                return False
        elif test.kind == "absent":
            return False
        elif test.kind != "present":
            found = _is_one_of(test.values, whole)
            if found is not None and found != (test.kind == "equal"):
                return False
    return True


def _is_one_of(wanted: Sequence[tree.Value], value: str) -> bool | None:
    """Whether `value` is one of those that are wanted; None if that is hard to tell."""
    found = [_is(each, value) for each in wanted]
    return True if True in found else None if None in found else False


def _is(wanted: tree.Value, value: str) -> bool | None:
    if isinstance(wanted, str):
        return wanted == value
    pattern = translated(wanted)
    if pattern.literals is not None:
        return value in pattern.literals
    if pattern.affix is not None:
        before, after, inner = pattern.affix
        if before and after:
            return inner in value
        return value.endswith(inner) if before else value.startswith(inner)
    return None
