"""The smallest parts of a SELECT, made as sqlglot's nodes without parsing any text.

What a user wrote becomes part of a SELECT only as a literal (`text`, `double`) or as a quoted
identifier (`identifier`, `named`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp


def column(table: str, name: str) -> exp.Column:
    """`"table".name`: the column is one of ours, the table may be an alias made from a node."""
    return exp.Column(this=exp.Identifier(this=name), table=identifier(table))


def identifier(given: str) -> exp.Identifier:
    """A name that may be a user's: in quotes unless it is one of our own, `OWN`."""
    is_plain = given.isascii() and given.islower() and given.replace("_", "").isalpha()
    return exp.Identifier(this=given, quoted=not (is_plain and given in OWN))


OWN = frozenset({
    "this_sentence", "sentence", "document", "corpus", "word", "hit", "word_or_anchor", "climb",
    "start", "above", "path", "dependent", "left_edge", "right_edge", "loose", "sequence",
    "position", "word_position", "peak", "attention", "source", "target", "looks", "looks_row",
    "coreferent", "coreferent_row", "mention", "one_mention", "other_mention", "read_sentence",
})  # fmt: skip
"""Tables and aliases of our own, which need no quotes."""


def text(value: str) -> exp.Literal:
    """A text as a literal."""
    return exp.Literal(this=value, is_string=True)


def number(value: int) -> exp.Expr:
    """An integer as a literal."""
    if value < 0:
        return exp.Neg(this=exp.Literal(this=str(-value), is_string=False))
    return exp.Literal(this=str(value), is_string=False)


def double(value: str) -> exp.Expr:
    """A number that a user wrote, as a literal cast to DOUBLE."""
    return exp.Cast(this=text(value), to=exp.DataType(this=exp.DType.DOUBLE))


def plain_double(value: exp.Expr) -> exp.Expr:
    """A numeric expression cast to DOUBLE."""
    return exp.Cast(this=value, to=exp.DataType(this=exp.DType.DOUBLE))


def as_double(value: exp.Expr) -> exp.Expr:
    """A value as a DOUBLE; null if it is not a number."""
    return exp.TryCast(this=value, to=exp.DataType(this=exp.DType.DOUBLE))


def equal(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """`left = right`."""
    return exp.EQ(this=left, expression=right)


def unequal(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """`left <> right`."""
    return exp.NEQ(this=left, expression=right)


def compared(operator: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """The comparison of two values by an operator of a request."""
    kind = {"=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
    return kind[operator](this=left, expression=right)


def among(value: exp.Expr, texts: Sequence[str]) -> exp.Expr:
    """Whether a value is one of some texts."""
    if len(texts) == 1:
        return equal(value, text(texts[0]))
    if not texts:
        return exp.false()
    return exp.In(this=value, expressions=[text(each) for each in texts])


def is_null(value: exp.Expr) -> exp.Expr:
    """`value is null`."""
    return exp.Is(this=value, expression=exp.Null())


def not_null(value: exp.Expr) -> exp.Expr:
    """`value is not null`."""
    return exp.Not(this=is_null(value))


def every(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """All of the conditions, joined by `and`; true if there are none."""
    found = [exp.Paren(this=each) if isinstance(each, exp.Or) else each for each in conditions]
    if not found:
        return exp.true()
    made = found[0]
    for each in found[1:]:
        made = exp.And(this=made, expression=each)
    return made


def either(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """At least one of the conditions, joined by `or`; false if there are none."""
    found = list(conditions)
    if not found:
        return exp.false()
    made = found[0]
    for each in found[1:]:
        made = exp.Or(this=made, expression=each)
    return made


def never(condition: exp.Expr) -> exp.Expr:
    """That a condition does not hold; a condition that is null counts as one that does not."""
    if isinstance(condition, (exp.Exists, exp.Contains)):
        return exp.Not(this=condition)
    return exp.Not(this=exp.Coalesce(this=condition, expressions=[exp.false()]))


def joined(*parts: exp.Expr) -> exp.Expr:
    """The concatenation of texts, in which null is an empty text."""
    return exp.Concat(expressions=list(parts), safe=True, coalesce=True)


def extracted(value: exp.Expr, pattern: str, group: int = 0) -> exp.Expr:
    """What a group of a regular expression matches; an empty text if it matches nothing."""
    return exp.RegexpExtract(this=value, expression=text(pattern), group=number(group))


def or_null(value: exp.Expr) -> exp.Expr:
    """The value, or null if it is an empty text."""
    return exp.Nullif(this=value, expression=text(""))


def small(value: int) -> exp.Expr:
    """An integer of the type of `word.index`, SMALLINT."""
    return exp.Cast(this=number(value), to=exp.DataType(this=exp.DType.SMALLINT))


def table(name: str, alias: str | None = None) -> exp.Table:
    """A table of the bank, with an alias if that differs from its name."""
    made = exp.Table(this=exp.Identifier(this=name))
    if alias is not None and alias != name:
        made.set("alias", exp.TableAlias(this=identifier(alias)))
    return made


def named(value: exp.Expr, alias: str) -> exp.Expr:
    """A column of a result; its name may be a user's."""
    return exp.Alias(this=value, alias=exp.Identifier(this=alias, quoted=alias not in _COLUMNS))


_COLUMNS = frozenset({
    "sentence", "index", "form", "lemma", "upos", "xpos", "feats", "head_index", "deprel",
    "space_after", "surface", "misc", "id", "sent_id", "ancestor", "descendant", "words",
    "looking", "looked_at", "label", "weight", "run", "n", "share", "one", "other",
})  # fmt: skip
